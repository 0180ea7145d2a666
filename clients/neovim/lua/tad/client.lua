-- Starting, finding and restarting the server; what is switched on in a buffer that it serves.
local config = require('tad.config')

local M = {}

local NAME = 'tad'

--- Whether this Neovim finds `lsp/tad.lua` by itself.
function M.has_enable()
  return vim.lsp.enable ~= nil and vim.lsp.config ~= nil
end

function M.clients(filter)
  filter = vim.tbl_extend('force', { name = NAME }, filter or {})
  if vim.lsp.get_clients then
    return vim.lsp.get_clients(filter)
  end
  local found = {}
  local all = vim.lsp.get_active_clients()
  for _, client in ipairs(all) do
    local attached = not filter.bufnr or vim.lsp.buf_is_attached(filter.bufnr, client.id)
    if client.name == NAME and attached then
      table.insert(found, client)
    end
  end
  return found
end

--- The server of a buffer (0 or nil: the current one), or nil.
function M.of_buffer(buffer)
  if not buffer or buffer == 0 then
    buffer = vim.api.nvim_get_current_buf()
  end
  return M.clients({ bufnr = buffer })[1]
end

--- One way to ask for all versions: `request` became a method of clients in 0.11.
function M.request(client, method, params, handler, buffer)
  if vim.fn.has('nvim-0.11') == 1 then
    return client:request(method, params, handler, buffer)
  end
  return client.request(method, params, handler, buffer)
end

function M.notify(client, method, params)
  if vim.fn.has('nvim-0.11') == 1 then
    client:notify(method, params)
  else
    client.notify(method, params)
  end
end

function M.cancel(client, number)
  if vim.fn.has('nvim-0.11') == 1 then
    client:cancel_request(number)
  else
    client.cancel_request(number)
  end
end

function M.supports(client, method)
  if vim.fn.has('nvim-0.11') == 1 then
    return client:supports_method(method)
  end
  if client.supports_method then
    return client.supports_method(method)
  end
  return true
end

local function refresh_lenses(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) or not config.get().lens then
    return
  end
  -- 0.12 refreshes by itself once enabled; 0.8 to 0.11 are asked; 0.7 knows the current buffer only.
  if vim.lsp.codelens.enable then
    return
  elseif vim.fn.has('nvim-0.10') == 1 then
    vim.lsp.codelens.refresh({ bufnr = buffer })
  elseif buffer == vim.api.nvim_get_current_buf() then
    vim.lsp.codelens.refresh()
  end
end

local function show_lenses(client, buffer)
  if not M.supports(client, 'textDocument/codeLens') then
    return
  end
  if vim.lsp.codelens.enable then
    vim.lsp.codelens.enable(true, { bufnr = buffer })
    return
  end
  local group = vim.api.nvim_create_augroup('tad_lens_' .. buffer, { clear = true })
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'BufWritePost', 'CursorHold' }, {
    group = group,
    buffer = buffer,
    callback = function()
      refresh_lenses(buffer)
    end,
  })
  vim.schedule(function()
    refresh_lenses(buffer)
  end)
end

local function show_hints(client, buffer)
  if vim.lsp.inlay_hint and vim.lsp.inlay_hint.enable and M.supports(client, 'textDocument/inlayHint') then
    vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
  end
end

--- Whether another server of the buffer answers for Python: it has an outline.
local function is_beside_python(client, buffer)
  local all = vim.lsp.get_clients and vim.lsp.get_clients({ bufnr = buffer }) or vim.lsp.get_active_clients()
  for _, other in ipairs(all) do
    local attached = other.id ~= client.id and vim.lsp.buf_is_attached(buffer, other.id)
    if attached and (other.server_capabilities or {}).documentSymbolProvider then
      return true
    end
  end
  return false
end

--- Tells the server in the place of `auto` whether it is beside another one, which says some things as well.
local function tell_beside(client, buffer)
  if (config.settings().besidePython or 'auto') ~= 'auto' then
    return
  end
  local word = is_beside_python(client, buffer) and 'on' or 'off'
  local settings = client.config.settings or {}
  settings.tad = settings.tad or {}
  if settings.tad.besidePython == word then
    return
  end
  settings.tad.besidePython = word
  client.config.settings = settings
  client.settings = settings
  M.notify(client, 'workspace/didChangeConfiguration', { settings = settings })
end

local function watch_beside(client, buffer)
  tell_beside(client, buffer)
  if vim.fn.exists('##LspAttach') == 0 then
    return
  end
  local group = vim.api.nvim_create_augroup('tad_beside_' .. buffer, { clear = true })
  vim.api.nvim_create_autocmd({ 'LspAttach', 'LspDetach' }, {
    group = group,
    buffer = buffer,
    callback = vim.schedule_wrap(function()
      if vim.api.nvim_buf_is_valid(buffer) and vim.lsp.buf_is_attached(buffer, client.id) then
        tell_beside(client, buffer)
      end
    end),
  })
end

--- Called for each buffer that the server serves. Maps no key.
function M.attached(client, buffer)
  watch_beside(client, buffer)
  require('tad.commands') -- what lenses do, which Neovim looks up by name
  local chosen = config.get()
  if chosen.lens then
    show_lenses(client, buffer)
  end
  if chosen.hints then
    show_hints(client, buffer)
  end
end

--- The server says that lenses have changed (versions that do not hear it by themselves).
M.refresh_lenses = refresh_lenses

local function root_of(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local folder = vim.fn.fnamemodify(name ~= '' and name or vim.fn.getcwd() .. '/x', ':p:h')
  if vim.fs and vim.fs.find then
    local marker = vim.fs.find(config.root_markers, { path = folder, upward = true })[1]
    return marker and vim.fn.fnamemodify(marker, ':h') or folder
  end
  for _, marker in ipairs(config.root_markers) do
    local found = vim.fn.findfile(marker, folder .. ';')
    if found == '' then
      found = vim.fn.finddir(marker, folder .. ';')
    end
    if found ~= '' then
      return vim.fn.fnamemodify(found, ':p'):gsub('/$', ''):match('^(.*)/[^/]*$')
    end
  end
  return folder
end

--- Neovim before 0.11: one server a root folder, started by hand.
function M.start(buffer)
  local command, problem = config.find()
  if not command then
    vim.notify_once('tad: ' .. problem, vim.log.levels.WARN)
    return
  end
  local root = root_of(buffer)
  local options = {
    name = NAME,
    cmd = command,
    cmd_env = config.environment(),
    root_dir = root,
    settings = { tad = config.settings() },
    before_init = config.before_init,
    on_attach = M.attached,
    handlers = require('tad.gradients').handlers,
  }
  if vim.lsp.start then
    vim.api.nvim_buf_call(buffer, function()
      vim.lsp.start(options)
    end)
    return
  end
  for _, client in ipairs(M.clients()) do
    if client.config.root_dir == root then
      vim.lsp.buf_attach_client(buffer, client.id)
      return
    end
  end
  local id = vim.lsp.start_client(options)
  if id then
    vim.lsp.buf_attach_client(buffer, id)
  end
end

function M.enable()
  if M.has_enable() then
    vim.lsp.enable('tad')
    return
  end
  local group = vim.api.nvim_create_augroup('tad_start', { clear = true })
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = 'python',
    callback = function(event)
      M.start(event.buf)
    end,
  })
end

local function stop(client)
  if vim.fn.has('nvim-0.11') == 1 then
    client:stop()
  else
    client.stop()
  end
end

--- Ends the server and starts it again for the buffers that it served.
function M.restart()
  local buffers = {}
  for _, client in ipairs(M.clients()) do
    for _, buffer in ipairs(vim.lsp.get_buffers_by_client_id and vim.lsp.get_buffers_by_client_id(client.id) or {}) do
      buffers[buffer] = true
    end
    for buffer, _ in pairs(client.attached_buffers or {}) do
      buffers[buffer] = true
    end
    stop(client)
  end
  buffers[vim.api.nvim_get_current_buf()] = true
  local function again(tries)
    if #M.clients() > 0 and tries > 0 then
      vim.defer_fn(function()
        again(tries - 1)
      end, 50)
      return
    end
    for buffer, _ in pairs(buffers) do
      if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].filetype == 'python' then
        if M.has_enable() then
          vim.lsp.enable('tad', false)
          vim.lsp.enable('tad', true)
        else
          M.start(buffer)
        end
      end
    end
  end
  again(40)
end

return M
