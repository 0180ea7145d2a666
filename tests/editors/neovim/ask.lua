-- A model is asked: `nvim --headless --clean -S ask.lua`, with TAD_STORY_FILE, a file with the refused `kernel`.
-- TAD_STORY_SAYS: what is said, in JSON, where it is asked before and goes wrong; the text stays as it is then.
local said = {}
vim.notify = function(text)
  table.insert(said, text)
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 50) then
    io.stdout:write('not ok ' .. what .. vim.inspect(said) .. '\n')
    vim.cmd('cquit 1')
  end
end

vim.schedule(function()
  vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.TAD_STORY_FILE))
  local client = require('tad.client')
  wait('a server', function()
    local one = client.of_buffer(0)
    return one and one.server_capabilities and one.server_capabilities.hoverProvider ~= nil
  end)
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  for _, words in ipairs(vim.fn.json_decode(vim.env.TAD_STORY_SAYS or '[]')) do
    said = {}
    vim.cmd('Tad ask kernel')
    wait(words, function()
      return table.concat(said, '\n'):find(words, 1, true) ~= nil
    end)
    wait('the same text', function()
      return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') == text
    end)
  end
  vim.cmd('Tad ask kernel')
  wait('the derivative', function()
    return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):find('# Proposed by a model') ~= nil
  end)
  wait('the report', function()
    return table.concat(said, '\n'):find('1 of 1 refused kernel proved') ~= nil
  end)
  vim.cmd('silent write')
  vim.cmd('qall!')
end)
