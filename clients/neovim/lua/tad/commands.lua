-- `:Tad` and its sub-commands. Each is a row of `rows`; completion and help are made from these.
local client = require('tad.client')
local gradients = require('tad.gradients')

local M = {}

local function say(text, level)
  vim.notify('tad: ' .. text, level or vim.log.levels.INFO)
end

--- The server of this buffer; one that is about to start is waited for.
local function server()
  local found = client.of_buffer(0)
  if not found and vim.bo.filetype == 'python' and require('tad.config').find() then
    vim.wait(3000, function()
      found = client.of_buffer(0)
      return found ~= nil
    end, 20)
  end
  if not found then
    say('no server for this buffer; `:checkhealth tad` says why', vim.log.levels.WARN)
  end
  return found
end

local CANCELLED = -32800 -- RequestCancelled of the protocol

-- Commands that are not answered yet: number of the request -> client.
local pending = {}

--- Sends a command of the server; `done` gets its result. Errors are said.
local function execute(name, arguments, done)
  local found = server()
  if not found then
    return
  end
  local params = { command = name, arguments = arguments }
  local number
  local _, id = client.request(found, 'workspace/executeCommand', params, function(problem, result)
    if number then
      pending[number] = nil
    end
    if problem then
      local level = problem.code == CANCELLED and vim.log.levels.INFO or vim.log.levels.ERROR
      say(problem.message or tostring(problem), level)
    elseif done then
      done(result)
    end
  end, vim.api.nvim_get_current_buf())
  number = id
  if number then
    pending[number] = found
  end
end
M.execute = execute

--- The name of the jit function around the cursor, or nil. Text alone, so that it works in a half-typed file.
function M.kernel_at_cursor()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  -- On a decorator the kernel is below.
  while lines[line] and lines[line]:match('^%s*@') do
    line = line + 1
  end
  for number = line, 1, -1 do
    local indent, name = lines[number]:match('^(%s*)def%s+([%w_]+)')
    local inside = name and (number == line or #indent < #(lines[line]:match('^%s*')) or lines[line]:match('^%s*$'))
    if inside then
      for above = number - 1, 1, -1 do
        if lines[above]:match('^%s*@.*jit') then
          return name
        end
        local decorates = lines[above]:match('^%s*@') or lines[above]:match('^%s+') or lines[above]:match('^[%)%]]')
        if not decorates then
          break
        end
      end
      return nil
    end
  end
  return nil
end

--- Names of the jit functions of this buffer.
local function kernel_names()
  local names, is_jit = {}, false
  for _, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local name = line:match('^%s*def%s+([%w_]+)')
    if name and is_jit then
      table.insert(names, name)
    end
    is_jit = not name and (is_jit or line:match('^%s*@.*jit') ~= nil)
  end
  return names
end

--- Names of the findings of this buffer.
local function finding_names()
  local names = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    if diagnostic.source == 'tad' and diagnostic.code then
      names[tostring(diagnostic.code)] = true
    end
  end
  return vim.tbl_keys(names)
end

local function kernel_named(name)
  name = name or M.kernel_at_cursor()
  if not name then
    say('the cursor is in no kernel; give its name', vim.log.levels.WARN)
  end
  return name
end

local function lines_of(text)
  return vim.split((text:gsub('\n$', '')), '\n', { plain = true })
end

--- The line of the kernel in this window comes to the middle, if it is not in sight.
local function show_forward(kernel)
  if kernel and vim.fn.search([[^\s*def ]] .. kernel .. [[\>]], 'cw') > 0 then
    vim.cmd('normal! zz')
  end
end

--- A look at the result begins at the first place to be decided, at the first that changes, or at the new kernel.
local function go_to_news(result)
  local line = result.conflict or result.first
  vim.fn.cursor((tonumber(line) or 0) + 1, 1)
  if not line then
    vim.fn.search([[^def \w\+_backward\>]], 'cW')
  end
  vim.cmd('normal! zz')
end

--- Shows what a file would become, in a buffer of that file: a new one beside its forward, a changed one beside
--- its old text. `:write` accepts, `:quit!` discards.
local function preview(result)
  if type(result) ~= 'table' then
    return
  end
  if type(result.refusal) == 'string' and result.refusal ~= '' then
    say(result.refusal, vim.log.levels.WARN)
    return
  end
  local path = vim.uri_to_fname(result.uri)
  local existed = vim.fn.filereadable(path) == 1 or vim.fn.bufloaded(path) == 1
  if existed then
    vim.cmd('tabnew')
  else
    show_forward(result.kernel)
    vim.cmd('rightbelow vsplit')
  end
  local buffer = vim.fn.bufadd(path)
  vim.fn.bufload(buffer)
  local before = existed and vim.api.nvim_buf_get_lines(buffer, 0, -1, false) or {}
  if existed then
    local old = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_win_set_buf(0, old)
    vim.api.nvim_buf_set_lines(old, 0, -1, false, before)
    vim.bo[old].syntax = 'python' -- not its filetype: no server is to look at what will be wiped
    vim.bo[old].bufhidden = 'wipe'
    vim.bo[old].modifiable = false
    vim.cmd('diffthis')
    vim.cmd('rightbelow vsplit')
  end
  vim.api.nvim_win_set_buf(0, buffer)
  vim.bo[buffer].buflisted = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines_of(result.text))
  if vim.bo[buffer].filetype == '' then
    vim.bo[buffer].filetype = 'python'
  end
  if existed then
    vim.cmd('diffthis')
  end
  go_to_news(result)
  if type(result.note) == 'string' then
    say(result.note, result.conflicts and vim.log.levels.WARN or vim.log.levels.INFO)
  end
  say('`:write` keeps this backward, `:undo` or `:quit!` drops it')
end
M.preview = preview

local function backward(where, name)
  if where and where ~= 'file' and where ~= 'here' then
    where, name = nil, where
  end
  name = kernel_named(name)
  if name then
    local place = { uri = vim.uri_from_bufnr(0), kernel = name, where = where == 'here' and 'below' or 'file' }
    execute('tad.backwardPreview', { place }, preview)
  end
end

local function check(name)
  local uri = vim.uri_from_bufnr(0)
  if name == 'all' then
    execute('tad.checkAllGradients', { { uri = uri } }, function(results)
      for _, status in ipairs(type(results) == 'table' and results or {}) do
        say(gradients.summary(status))
      end
    end)
    return
  end
  name = kernel_named(name)
  if name then
    gradients.asked[uri .. '#' .. name] = true
    execute('tad.checkGradients', { { uri = uri, kernel = name } }, function(status)
      if type(status) == 'table' and status.kernel then
        status.uri = status.uri or uri
        gradients.received(status)
      end
    end)
  end
end

--- Shows Markdown beside the cursor; called again with the same name it moves into the window.
local function float(text, name)
  local options = { border = 'rounded', focus_id = 'tad-' .. name, max_width = 100 }
  vim.lsp.util.open_floating_preview(lines_of(text), 'markdown', options)
end

local function explain(name)
  if not name then
    local line = vim.api.nvim_win_get_cursor(0)[1] - 1
    for _, diagnostic in ipairs(vim.diagnostic.get(0, { lnum = line })) do
      if diagnostic.source == 'tad' then
        local data = diagnostic.user_data and diagnostic.user_data.lsp or {}
        name = diagnostic.code or data.code or name
      end
    end
  end
  if not name then
    say('no finding of tad on this line; give a name: `:Tad explain unmasked-load`', vim.log.levels.WARN)
    return
  end
  execute('tad.explain', { { name = name } }, function(result)
    local text = type(result) == 'table' and (result.text or result.markdown) or result
    if type(text) == 'string' then
      float(text, 'explain ' .. name)
    end
  end)
end

--- `grid axis 0 (M programs)` for each axis of a list.
local function axes_text(axes, extents)
  local words = {}
  for _, axis in ipairs(axes) do
    table.insert(words, ('grid axis %d%s'):format(axis, extents[axis] and (' (`%s`)'):format(extents[axis]) or ''))
  end
  return table.concat(words, ' and ')
end

local function writes_text(writes, extents)
  if writes.shared and #writes.shared > 0 then
    local meet = 'programs along ' .. axes_text(writes.shared, extents) .. ' meet in one element'
    return meet .. (writes.atomic and ': atomic adds' or ', in turn')
  end
  return 'one program owns each element: a plain store'
end

local function schedule(name)
  name = kernel_named(name)
  if not name then
    return
  end
  execute('tad.schedule', { { uri = vim.uri_from_bufnr(0), kernel = name } }, function(result)
    if type(result) ~= 'table' then
      return
    end
    if type(result.reason) == 'string' and result.reason ~= '' then
      say(result.reason, vim.log.levels.WARN)
      return
    end
    local extents = {}
    for _, axis in ipairs(result.axes or {}) do
      extents[axis.axis] = axis.extent
    end
    local lines = { '# Who writes which gradient of `' .. name .. '`' }
    for _, gradient in ipairs(result.gradients or {}) do
      local before, after = writes_text(gradient.before, extents), writes_text(gradient.after, extents)
      table.insert(lines, '')
      table.insert(lines, ('**d%s** %s'):format(gradient.input, before == after and after or 'before: ' .. before))
      if before ~= after then
        table.insert(lines, 'after: ' .. after)
      end
    end
    for i, saved in ipairs(result.saved or {}) do
      if i == 1 then
        vim.list_extend(lines, { '', 'The forward also stores' })
      end
      table.insert(lines, ('- `%s` in `%s`: %s'):format(saved.value, saved.parameter, saved.size))
    end
    float(table.concat(lines, '\n'), 'schedule ' .. name)
  end)
end

local function time(name)
  name = kernel_named(name)
  if name then
    execute('tad.timeKernel', { { uri = vim.uri_from_bufnr(0), kernel = name } }, function()
      say('timed: the lens of ' .. name .. ' shows it')
    end)
  end
end

--- Kernels of the index that are built like one of this buffer, each followed by its backwards: the location list.
local function similar(name)
  name = kernel_named(name)
  if not name then
    return
  end
  local window = vim.api.nvim_get_current_win()
  execute('tad.similarKernels', { { uri = vim.uri_from_bufnr(0), kernel = name } }, function(found)
    local items = {}
    local function add(place, text)
      local path = vim.uri_to_fname(place.uri)
      table.insert(items, { filename = path, lnum = place.range.start.line + 1, col = 1, text = text })
    end
    for _, kernel in ipairs(type(found) == 'table' and found or {}) do
      add(kernel, ('%.2f %s'):format(kernel.similarity, kernel.name))
      for _, one in ipairs(kernel.backwards or {}) do
        add(one, '     backward ' .. one.name)
      end
    end
    if #items == 0 then
      say('nothing in the index is built like ' .. name)
      return
    end
    if not vim.api.nvim_win_is_valid(window) then
      window = vim.api.nvim_get_current_win()
    end
    vim.fn.setloclist(window, {}, ' ', { title = 'Kernels similar to ' .. name, items = items })
    vim.api.nvim_win_call(window, function()
      vim.cmd('lopen')
    end)
  end)
end

local function ask(name)
  name = kernel_named(name)
  if name then
    execute('tad.askModel', { { uri = vim.uri_from_bufnr(0), kernel = name } }, function(result)
      if type(result) == 'table' and type(result.report) == 'string' then
        say(result.report)
      end
    end)
  end
end

local function cancel()
  if next(pending) == nil then
    say('nothing of tad is running')
  end
  for number, one in pairs(pending) do
    client.cancel(one, number)
  end
end

local function toggle_hints()
  if not (vim.lsp.inlay_hint and vim.lsp.inlay_hint.enable) then
    say('inlay hints need Neovim 0.10', vim.log.levels.WARN)
    return
  end
  local filter = { bufnr = 0 }
  vim.lsp.inlay_hint.enable(not vim.lsp.inlay_hint.is_enabled(filter), filter)
end

local function run_lens()
  vim.lsp.codelens.run()
end

local function show_log()
  local path = vim.lsp.get_log_path and vim.lsp.get_log_path() or vim.lsp.log.get_filename()
  vim.cmd('tabnew ' .. vim.fn.fnameescape(path))
end

local function restart()
  client.restart()
end

--- Trusts the folder of this buffer until Neovim ends; the server starts again and is told so.
local function trust()
  local one = client.of_buffer(0)
  local root = one and one.config.root_dir or vim.fn.getcwd()
  require('tad.config').trust(root)
  say('gradient checks and timings may start processes for ' .. root)
  client.restart()
end

local function health()
  vim.cmd('checkhealth tad')
end

-- name, function, what it does, values that its argument may have, what lists further ones
M.rows = {
  { 'backward', backward, 'preview the backward of a kernel, in a new file or here', { 'file', 'here' }, kernel_names },
  { 'check', check, 'check the gradients of a kernel, or of all of this file', { 'all' }, kernel_names },
  { 'cancel', cancel, 'stop the checks and timings that run', {} },
  { 'time', time, 'time forward and backward of a kernel on the GPU', {}, kernel_names },
  { 'schedule', schedule, 'which program writes which gradient', {}, kernel_names },
  { 'similar', similar, 'kernels of your index that are built alike, with their backwards', {}, kernel_names },
  { 'ask', ask, 'ask a language model for the derivative that the rules refuse', {}, kernel_names },
  { 'explain', explain, 'the page of a diagnostic or of an operation', {}, finding_names },
  { 'lens', run_lens, 'run the code lens of this line', {} },
  { 'hints', toggle_hints, 'inlay hints of shapes on or off', {} },
  { 'trust', trust, 'let gradient checks and timings of this folder start processes', {} },
  { 'restart', restart, 'end the server and start it again', {} },
  { 'log', show_log, "open Neovim's log of language servers", {} },
  { 'health', health, 'same as :checkhealth tad', {} },
}

local function help()
  local lines = { 'sub-commands of :Tad' }
  for _, row in ipairs(M.rows) do
    table.insert(lines, ('  %-9s %s'):format(row[1], row[3]))
  end
  say(table.concat(lines, '\n'))
end

function M.run(words)
  local name = words[1]
  if not name then
    help()
    return
  end
  for _, row in ipairs(M.rows) do
    if row[1] == name then
      row[2](words[2], words[3])
      return
    end
  end
  say('there is no `:Tad ' .. name .. '`; `:Tad` lists what there is', vim.log.levels.ERROR)
end

function M.complete(lead, line)
  local before = vim.split(line:gsub('^%s*%S+%s*', ''), '%s+')
  local choices = {}
  if #before <= 1 then
    for _, row in ipairs(M.rows) do
      table.insert(choices, row[1])
    end
  else
    for _, row in ipairs(M.rows) do
      if row[1] == before[1] then
        choices = vim.list_extend(vim.list_extend({}, row[4]), row[5] and row[5]() or {})
      end
    end
  end
  return vim.tbl_filter(function(choice)
    return vim.startswith(choice, lead)
  end, choices)
end

-- The lens shows a preview here instead of editing at once; Neovim asks this table before the server.
if vim.lsp.commands then
  vim.lsp.commands['tad.generateBackward'] = function(command)
    local place = command.arguments and command.arguments[1] or {}
    execute('tad.backwardPreview', { place }, preview)
  end
  -- A click on a result says why; nothing runs again.
  vim.lsp.commands['tad.showResult'] = function(command)
    local place = command.arguments and command.arguments[1] or {}
    local status = (gradients.status[place.uri] or {})[place.kernel]
    if status then
      float(gradients.summary(status), 'result ' .. place.kernel)
    else
      execute('tad.showResult', command.arguments)
    end
  end
  vim.lsp.commands['tad.similarKernels'] = function(command)
    local place = command.arguments and command.arguments[1] or {}
    similar(place.kernel)
  end
  vim.lsp.commands['tad.checkGradients'] = function(command)
    local place = command.arguments and command.arguments[1] or {}
    if place.uri and place.kernel then
      gradients.asked[place.uri .. '#' .. place.kernel] = true
    end
    execute('tad.checkGradients', command.arguments)
  end
end

return M
