-- The configuration that `vim.lsp.enable('tad')` finds on Neovim 0.11 and later.
local config = require('tad.config')

return {
  cmd = function(dispatchers)
    return vim.lsp.rpc.start(config.command(), dispatchers, { env = config.environment() })
  end,
  filetypes = { 'python' },
  root_markers = config.root_markers,
  settings = { tad = config.settings() },
  before_init = config.before_init,
  on_attach = function(client, buffer)
    require('tad.client').attached(client, buffer)
  end,
  handlers = require('tad.gradients').handlers,
}
