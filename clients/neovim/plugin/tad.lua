-- Loaded at start: the `:Tad` command, and the server for Python files. Needs no setup().
if vim.g.loaded_tad or vim.fn.has('nvim-0.7') == 0 then
  return
end
vim.g.loaded_tad = true

vim.api.nvim_create_user_command('Tad', function(arguments)
  require('tad.commands').run(arguments.fargs)
end, {
  nargs = '*',
  desc = 'Triton kernels: backward, gradient checks, server',
  complete = function(lead, line)
    return require('tad.commands').complete(lead, line)
  end,
})

local chosen = vim.g.tad
if type(chosen) ~= 'table' or chosen.enable ~= false then
  require('tad.client').enable()
end
