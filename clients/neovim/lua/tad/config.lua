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
  -- Whether gradient checks may start worker processes (they interpret kernels; nothing of yours is imported).
  trusted = true,
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
  local settings = vim.deepcopy(M.get().settings)
  settings.trusted = M.get().trusted
  return settings
end

function M.init_options()
  return { settings = M.settings(), trusted = M.get().trusted }
end

return M
