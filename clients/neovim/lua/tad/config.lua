-- What the user chose in `vim.g.tad`, and where the server is. Nothing here starts anything.
local M = {}

M.root_markers = { 'pyproject.toml', 'setup.py', 'setup.cfg', '.git' }

M.defaults = {
  -- The server: a path or a list of words. nil: beside this plugin, then on PATH.
  cmd = nil,
  -- Start the server for Python files by itself.
  enable = true,
  -- Switch code lenses and inlay hints on in buffers of the server, where this Neovim has them.
  lens = true,
  hints = true,
  -- Where gradient checks and timings may start processes: true, false, or a list of folders.
  trusted = false,
  -- The key of the model that you have set up: a function, or a command that prints it. nil: $TAD_MODEL_KEY.
  model_key = nil,
  -- The server's own settings; `:help tad-settings`.
  settings = {},
}

function M.get()
  local chosen = vim.g.tad
  if type(chosen) ~= 'table' then
    chosen = {}
  end
  return vim.tbl_deep_extend('force', M.defaults, chosen)
end

--- The folder of this plugin.
function M.root()
  local file = debug.getinfo(1, 'S').source:sub(2)
  return vim.fn.fnamemodify(file, ':p:h:h:h')
end

--- Places where the server may be, best first, as { path, where } pairs.
function M.candidates()
  local root = M.root()
  return {
    { root .. '/bin/tad-lsp', 'beside the plugin' },
    { vim.fn.fnamemodify(root, ':h:h') .. '/build/tad-lsp', 'built in the repository' },
    { vim.fn.exepath('tad-lsp'), 'on PATH' },
  }
end

--- The server's command as a list, and where it was found; nil and a sentence where it is nowhere.
function M.find()
  local chosen = M.get().cmd
  if type(chosen) == 'string' then
    chosen = { chosen }
  end
  if type(chosen) == 'table' and #chosen > 0 then
    if vim.fn.executable(chosen[1]) == 1 then
      return chosen, 'vim.g.tad.cmd'
    end
    return nil, ('vim.g.tad.cmd names `%s`, which cannot be run'):format(tostring(chosen[1]))
  end
  for _, candidate in ipairs(M.candidates()) do
    if candidate[1] ~= '' and vim.fn.executable(candidate[1]) == 1 then
      return { candidate[1] }, candidate[2]
    end
  end
  return nil, 'there is no `tad-lsp` beside the plugin or on PATH: build it, or set vim.g.tad.cmd'
end

--- The command to start; where there is none, a name whose failure Neovim reports.
function M.command()
  local command = M.find()
  return command or { 'tad-lsp' }
end

function M.settings()
  return vim.deepcopy(M.get().settings)
end

--- What the server has in its environment beside Neovim's own.
function M.environment()
  local chosen = M.get().model_key
  local key
  if type(chosen) == 'function' then
    key = chosen()
  elseif type(chosen) == 'table' and #chosen > 0 then
    local printed = vim.fn.systemlist(chosen)
    key = vim.v.shell_error == 0 and printed[1] or nil
  end
  return type(key) == 'string' and key ~= '' and { TAD_MODEL_KEY = key } or nil
end

local function real(folder)
  local path = vim.fn.resolve(vim.fn.fnamemodify(vim.fn.expand(folder), ':p'))
  return (path:gsub('(.)/+$', '%1'))
end

-- What `:Tad trust` trusts until this Neovim ends.
local trusted_for_now = {}

--- Trusts a folder and what is below it, until this Neovim ends. Servers that run do not hear of it.
function M.trust(folder)
  table.insert(trusted_for_now, folder)
end

--- Whether the user has said that what a folder (nil: the current one) holds may be run.
function M.is_trusted(root)
  local chosen = M.get().trusted
  if chosen == true then
    return true
  end
  local folders = vim.list_extend(type(chosen) == 'table' and vim.deepcopy(chosen) or {}, trusted_for_now)
  local path = real(root or vim.fn.getcwd())
  for _, name in ipairs(folders) do
    local folder = real(name)
    if path == folder or vim.startswith(path, folder == '/' and '/' or folder .. '/') then
      return true
    end
  end
  return false
end

--- The `initializationOptions` of a server for this root folder.
function M.init_options(root)
  return { settings = M.settings(), trusted = M.is_trusted(root) }
end

--- Neovim's hook: the root folder is known only when a server is started.
function M.before_init(params, chosen)
  params.initializationOptions = M.init_options(chosen.root_dir)
end

return M
