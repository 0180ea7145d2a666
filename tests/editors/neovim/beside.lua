-- Beside another server for Python: `nvim --headless --clean -S beside.lua`, with TAD_STORY_FILE.
-- The other one is a few lines in this Neovim.
local function wait(what, condition)
  if not vim.wait(60000, condition, 50) then
    io.stdout:write('not ok ' .. what .. '\n')
    vim.cmd('cquit 1')
  end
end

--- Answers `initialize` and the outline of a file, and nothing else.
local function other_server()
  local closing = false
  local number = 0
  return {
    request = function(method, _, callback)
      number = number + 1
      local symbol = { name = 'swish', kind = 12 }
      symbol.range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } }
      symbol.selectionRange = symbol.range
      local results = {
        initialize = { capabilities = { documentSymbolProvider = true } },
        ['textDocument/documentSymbol'] = { symbol },
      }
      vim.schedule(function()
        callback(nil, results[method] or vim.NIL)
      end)
      return true, number
    end,
    notify = function()
      return true
    end,
    is_closing = function()
      return closing
    end,
    terminate = function()
      closing = true
    end,
  }
end

vim.schedule(function()
  vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.TAD_STORY_FILE))
  local tad = require('tad.client')
  wait('a server', function()
    local one = tad.of_buffer(0)
    return one and one.server_capabilities and one.server_capabilities.hoverProvider ~= nil
  end)
  local names = function()
    local document = { textDocument = { uri = vim.uri_from_bufnr(0) } }
    local answers = vim.lsp.buf_request_sync(0, 'textDocument/documentSymbol', document, 10000) or {}
    local found = {}
    for _, answer in pairs(answers) do
      for _, symbol in ipairs(type(answer.result) == 'table' and answer.result or {}) do
        table.insert(found, symbol.name)
      end
    end
    table.sort(found)
    return table.concat(found, ' ')
  end
  wait('an outline', function()
    return names() == 'swish swish_kernel'
  end)
  local other = vim.lsp.start({ name = 'other', cmd = other_server, root_dir = vim.fn.getcwd() })
  wait('an outline of the other server alone', function()
    return names() == 'swish'
  end)
  vim.lsp.buf_detach_client(0, other)
  wait('an outline again', function()
    return names() == 'swish swish_kernel'
  end)
  io.stdout:write('ok\n')
  vim.cmd('qall!')
end)
