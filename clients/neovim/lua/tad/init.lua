-- `require('tad').setup{...}` for those who like it; `vim.g.tad = {...}` before the plugin loads does the same.
local M = {}

function M.setup(options)
  vim.g.tad = vim.tbl_deep_extend('force', type(vim.g.tad) == 'table' and vim.g.tad or {}, options or {})
  if vim.g.tad.enable ~= false then
    require('tad.client').enable()
  end
end

--- For a status line: the result of the kernel around the cursor, or ''.
function M.statusline()
  local kernels = require('tad.gradients').status[vim.uri_from_bufnr(0)]
  if not kernels then
    return ''
  end
  local name = require('tad.commands').kernel_at_cursor()
  local status = name and kernels[name]
  return status and require('tad.gradients').summary(status) or ''
end

return M
