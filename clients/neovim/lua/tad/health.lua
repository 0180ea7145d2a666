-- `:checkhealth tad`
local M = {}

local health = vim.health or {}
local start = health.start or health.report_start or require('health').report_start
local ok = health.ok or health.report_ok or require('health').report_ok
local warn = health.warn or health.report_warn or require('health').report_warn
local report_error = health.error or health.report_error or require('health').report_error
local info = health.info or health.report_info or require('health').report_info

local function output_of(command)
  local lines = vim.fn.systemlist(command)
  return vim.v.shell_error == 0 and lines or nil
end

local function check_server(config)
  local command, where = config.find()
  if not command then
    report_error(where, {
      'In a clone of the repository: `make build`.',
      'Or: let g:tad = #{ cmd: "/path/to/tad-lsp" } before the plugin loads.',
    })
    return
  end
  local version = output_of({ command[1], '--version' })
  if not version then
    report_error(('`%s` (%s) does not run'):format(command[1], where))
    return
  end
  ok(('%s: `%s` (%s)'):format(version[1], command[1], where))
  for _, line in ipairs(output_of({ command[1], '--doctor' }) or {}) do
    if line ~= '' then
      info(line)
    end
  end
end

local function check_editor()
  local client = require('tad.client')
  if client.has_enable() then
    ok('this Neovim starts the server through `lsp/tad.lua`')
  else
    ok('this Neovim starts the server by an autocommand of the plugin')
  end
  if not (vim.lsp.inlay_hint and vim.lsp.inlay_hint.enable) then
    info('shapes beside the names need Neovim 0.10 (inlay hints)')
  end
  local clients = client.clients()
  if #clients == 0 then
    info('the server is not running: it starts with the first Python file')
  end
  for _, one in ipairs(clients) do
    ok(('running for %s'):format(one.config.root_dir or 'a single file'))
  end
end

function M.check()
  local config = require('tad.config')
  start('tad: the server')
  check_server(config)
  start('tad: this Neovim')
  check_editor()
  local one = require('tad.client').of_buffer(0)
  local root = one and one.config.root_dir or nil
  if not config.is_trusted(root) then
    warn(('vim.g.tad.trusted does not hold %s: gradients are not checked'):format(root or vim.fn.getcwd()), {
      'Only for this session: `:Tad trust`.',
      'For good: `trusted = true`, or a list of folders, in vim.g.tad; `:help tad-trust`.',
    })
  end
end

return M
