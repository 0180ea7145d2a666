-- A kernel author's morning, told to a headless Neovim (`nvim --headless --clean -S story.lua`).
-- Prints TAP, exits 1 on a failure.
-- Environment: TAD_STORY_FILE, the Python file to work on (in a folder of its own), TAD_STORY_KERNEL, its kernel;
-- TAD_STORY_SLOW, a file with `slow_kernel`, whose check takes long. The plugin is on the runtime path.
local failures, count = 0, 0

local function line(text)
  io.stdout:write(text .. '\n')
end

local function is(good, what, detail)
  count = count + 1
  if good then
    line(('ok %d - %s'):format(count, what))
  else
    failures = failures + 1
    line(('not ok %d - %s%s'):format(count, what, detail and (': ' .. vim.inspect(detail)) or ''))
  end
  return good
end

local function wait(what, condition, limit_ms)
  local last
  local good = vim.wait(limit_ms or 120000, function()
    local fine, value = pcall(condition)
    last = value
    return fine and value and true or false
  end, 20)
  is(good, what, not good and last or nil)
  return good
end

local said = {}
vim.notify = function(text)
  table.insert(said, text)
end

local function was_said(pattern)
  for _, text in ipairs(said) do
    if text:find(pattern) then
      return text
    end
  end
end

local client = require('tad.client')
local new = vim.fn.has('nvim-0.10') == 1

local function findings(name)
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    if diagnostic.code == name then
      table.insert(found, diagnostic)
    end
  end
  return found
end

local function request(method, params)
  local results = vim.lsp.buf_request_sync(0, method, params, 60000) or {}
  for _, answer in pairs(results) do
    if answer.result ~= nil then
      return answer.result
    end
  end
end

local function position_of(pattern, offset)
  for number, text in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local column = text:find(pattern)
    if column then
      return { line = number - 1, character = column - 1 + (offset or 0) }
    end
  end
end

local function place(position)
  return { textDocument = { uri = vim.uri_from_bufnr(0) }, position = position }
end

local function set_line(number, text)
  vim.api.nvim_buf_set_lines(0, number, number + 1, false, { text })
end

local function lenses()
  local titles = {}
  for _, lens in ipairs(request('textDocument/codeLens', { textDocument = { uri = vim.uri_from_bufnr(0) } }) or {}) do
    local resolved = lens.command and lens or request('codeLens/resolve', lens) or {}
    table.insert(titles, (resolved.command or {}).title or '')
  end
  return titles
end

local function has_lens(pattern)
  for _, title in ipairs(lenses()) do
    if title:find(pattern) then
      return title
    end
  end
end

local function story()
  vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.TAD_STORY_FILE))
  local file = vim.api.nvim_get_current_buf()
  wait('the server serves the Python file', function()
    local one = client.of_buffer(0)
    return one and one.server_capabilities and one.server_capabilities.hoverProvider
  end)

  -- A mistake while typing.
  local load = position_of('tl%.load%(x_ptr')
  local good = vim.api.nvim_buf_get_lines(0, load.line, load.line + 1, false)[1]
  set_line(load.line, (good:gsub('tl%.load', 'tl.lod')))
  wait('a misspelt operation is found while typing', function()
    return #findings('unknown-operation') == 1
  end)
  is(findings('unknown-operation')[1].source == 'tad', 'the finding names its source')
  set_line(load.line, (good:gsub(', mask=mask[^)]*', '')))
  wait('a missing mask is a warning', function()
    local found = findings('unmasked-load')[1]
    return found and found.severity == vim.diagnostic.severity.WARN
  end)

  -- The light bulb.
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(0) },
    range = { start = { line = load.line, character = 0 }, ['end'] = { line = load.line, character = 80 } },
    context = { diagnostics = {} },
  }
  local fix
  local offered = wait('a fix adds the mask', function()
    for _, action in ipairs(request('textDocument/codeAction', params) or {}) do
      if action.title:find('mask=') then
        fix = action
      end
    end
    return fix
  end)
  if offered then
    local edit = fix.edit or (request('codeAction/resolve', fix) or {}).edit
    is(edit ~= nil, 'the fix has an edit')
    vim.lsp.util.apply_workspace_edit(edit, 'utf-8')
    wait('the finding goes away', function()
      return #findings('unmasked-load') == 0
    end)
  end

  -- Reading.
  wait('hover tells the shape', function()
    local hover = request('textDocument/hover', place(position_of('x = tl%.load')))
    return hover and vim.inspect(hover.contents):find('BLOCK')
  end)
  wait('completion knows the operations', function()
    local items = request('textDocument/completion', place(position_of('tl%.load%(x_ptr', 3)))
    local labels = {}
    for _, item in ipairs(items and (items.items or items) or {}) do
      labels[item.label] = true
    end
    return labels['load'] and labels['dot']
  end)
  if new then
    wait('shapes stand beside the names', function()
      local hints = request('textDocument/inlayHint', { textDocument = params.textDocument, range = params.range })
      return hints and #hints > 0
    end)
    is(vim.lsp.inlay_hint.is_enabled({ bufnr = file }), 'inlay hints are on')
  end
  is(vim.fn.maparg('gra', 'n') == '' or vim.fn.maparg('gra', 'n', false, true).desc ~= nil, 'no key was mapped by us')

  is(vim.lsp.commands['tad.generateBackward'] ~= nil, 'the lens shows a preview, without a :Tad before it')

  -- Backward and proof.
  wait('a lens offers the backward', function()
    return has_lens('[Bb]ackward')
  end)
  vim.api.nvim_win_set_cursor(0, { load.line + 1, 4 })
  is(require('tad.commands').kernel_at_cursor() == vim.env.TAD_STORY_KERNEL, 'the kernel around the cursor is known')
  vim.cmd('Tad check')
  wait('nothing is run in a folder that nobody trusted', function()
    return was_said('not trusted')
  end)
  local stranger = client.of_buffer(0).id
  vim.cmd('Tad trust')
  wait('the server starts again for the trusted folder', function()
    local one = client.of_buffer(0)
    return one and one.id ~= stranger and has_lens('[Bb]ackward')
  end)
  vim.cmd('Tad check')
  wait('the gradients are proved', function()
    return was_said('proved')
  end)
  wait('the result stands on a lens', function()
    return has_lens('gradients proved')
  end)
  vim.cmd('Tad similar')
  wait('without an index it is said how to make one', function()
    return was_said('nothing is indexed: `tad%-lsp %-%-index')
  end)
  vim.cmd('Tad backward')
  wait('the backward is shown', function()
    return vim.api.nvim_buf_get_name(0):find('_backward%.py$')
      and table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):find('_backward%(')
  end)
  local path = vim.api.nvim_buf_get_name(0)
  is(#vim.api.nvim_tabpage_list_wins(0) == 2 and vim.fn.bufwinid(file) > 0, 'the forward stays in sight beside it')
  is(vim.fn.filereadable(path) == 0, 'nothing is written before it is accepted')
  is(vim.api.nvim_get_current_line():find('_backward%('), 'the cursor is on the new kernel')
  vim.cmd('write')
  is(vim.fn.filereadable(path) == 1, 'writing accepts it')
  vim.fn.system({ require('tad.config').command()[1], '--index', path })
  is(vim.v.shell_error == 0, 'the written module is indexed')

  -- A mistake in it by hand.
  local written = position_of('tl%.store%(dx_ptr')
  local whole = vim.api.nvim_buf_get_lines(0, written.line, written.line + 1, false)[1]
  set_line(written.line, (whole:gsub('(tl%.store%(dx_ptr[^,]*, )([^,]+)', '%1(%2) * 0.5')))
  said = {}
  vim.cmd('Tad check ' .. vim.env.TAD_STORY_KERNEL)
  wait('a backward that was made wrong is refuted, with the element', function()
    return was_said('failed.*expected dx_ptr%[%d+.*actual')
  end)
  wait('the error stands where the gradient is written', function()
    local found = findings('gradient-wrong')[1]
    return found and found.lnum == written.line and found.severity == vim.diagnostic.severity.ERROR
  end)
  set_line(written.line, whole)
  wait('it goes with the mistake', function()
    return #findings('gradient-wrong') == 0
  end)
  vim.fn.append('$', { '', '', '# by hand' })
  vim.cmd('silent! write')
  vim.cmd('close')
  vim.cmd('buffer ' .. file)

  -- What is built alike.
  vim.cmd('Tad similar ' .. vim.env.TAD_STORY_KERNEL)
  wait('the location list has the kernel of the index, and its backward', function()
    local list = vim.fn.getloclist(0)
    return #list > 1 and list[1].text:find(vim.env.TAD_STORY_KERNEL) and list[2].text:find('backward')
  end)
  vim.cmd('lclose')

  -- An edit makes the result stale.
  local store = position_of('tl%.store%(')
  local text = vim.api.nvim_buf_get_lines(0, store.line, store.line + 1, false)[1]
  set_line(store.line, (text:gsub('tl%.store%(y_ptr', 'tl.store(0 + y_ptr')))
  wait('the lens says that the result is of an older text', function()
    return has_lens('changed since')
  end)

  -- What a hand edited in the module stays when it is updated.
  set_line(store.line, (text:gsub('x %* tl', '2.0 * x * tl')))
  wait('a lens offers to update the backward', function()
    return has_lens('Update backward')
  end)
  vim.api.nvim_win_set_cursor(0, { store.line + 1, 4 })
  said = {}
  vim.cmd('Tad backward')
  wait('the old text and the new one are compared', function()
    return vim.wo.diff and vim.api.nvim_buf_get_name(0) == path
  end)
  local merged = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  is(merged:find('\n# by hand$') and merged:find('2.0 * x * tl', 1, true), 'both changes are there', merged)
  is(was_said('what was edited by hand was kept %(1 place%)'), 'what was kept is said', said)
  is(vim.api.nvim_get_current_line():find('2.0 * x * tl', 1, true), 'the cursor is at the first difference')
  vim.cmd('edit!')
  vim.cmd('tabclose')
  vim.cmd('buffer ' .. file)

  -- A long check, cancelled.
  vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.TAD_STORY_SLOW))
  wait('another file is served', function()
    return client.of_buffer(0) and has_lens('Check gradients')
  end)
  said = {}
  vim.cmd('Tad check slow_kernel')
  wait('its check runs', function()
    return has_lens('checking')
  end)
  vim.cmd('Tad cancel')
  wait('the check is cancelled', function()
    return was_said('cancelled') and has_lens('Check gradients')
  end)
  vim.cmd('buffer ' .. file)

  -- The server goes and comes back.
  local before = client.of_buffer(0).id
  vim.cmd('Tad restart')
  wait('the server comes back after :Tad restart', function()
    local one = client.of_buffer(0)
    return one and one.id ~= before and one.server_capabilities.hoverProvider
  end)
  wait('and serves again', function()
    return request('textDocument/hover', place(position_of('x = tl%.load'))) ~= nil
  end)
  vim.cmd('Tad nonsense')
  is(was_said('there is no `:Tad nonsense`'), 'an unknown sub-command is said')
  is(#vim.fn.getcompletion('Tad ba', 'cmdline') == 1, 'sub-commands complete')
  local names = vim.fn.getcompletion('Tad check ', 'cmdline')
  is(vim.tbl_contains(names, 'all') and vim.tbl_contains(names, vim.env.TAD_STORY_KERNEL), 'kernels complete', names)
  vim.cmd('silent! helptags ' .. vim.fn.fnameescape(require('tad.config').root() .. '/doc'))
  is(pcall(vim.cmd, 'help :Tad-backward'), 'there is a help page')
  vim.cmd('checkhealth tad')
  local report = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  is(report:find('tad%-lsp') and not report:find('ERROR'), 'checkhealth is content', report)
end

vim.schedule(function()
  local fine, problem = xpcall(story, debug.traceback)
  if not fine then
    is(false, 'the story went to its end', problem)
  end
  line(('1..%d'):format(count))
  line(('# %d passed, %d failed'):format(count - failures, failures))
  vim.cmd(failures == 0 and 'qall!' or 'cquit 1')
end)
