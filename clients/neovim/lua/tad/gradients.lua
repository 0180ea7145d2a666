-- What the server tells of gradient checks, kept by file and kernel; a message where a check was asked for.
local M = { status = {}, asked = {} }

local function summary(status)
  if status.status == 'running' and status.waiting then
    return 'waiting to check the gradients of ' .. status.kernel
  elseif status.status == 'running' then
    local percent = tonumber(status.percent) or 0
    return 'checking the gradients of ' .. status.kernel .. (percent > 0 and (', %d %%'):format(percent) or '')
  end
  local text = ('%s: %s'):format(status.kernel, status.status)
  if type(status.worst_error) == 'number' then
    text = text .. (', worst error %.1e'):format(status.worst_error)
  end
  if type(status.seconds) == 'number' then
    local is_short = status.seconds < 0.1
    text = text .. (is_short and ', %.0f ms' or ', %.1f s'):format(status.seconds * (is_short and 1000 or 1))
  end
  if type(status.own_types) == 'table' and status.own_types.words then
    text = text .. '; ' .. status.own_types.words
  end
  if type(status.reason) == 'string' and status.reason ~= '' then
    text = text .. ' (' .. status.reason .. ')'
  end
  for _, input in ipairs(type(status.inputs) == 'table' and status.inputs or {}) do
    local worst = input.worst
    if type(worst) == 'table' then
      local place = table.concat(vim.tbl_map(function(index)
        return ('%d'):format(index)
      end, worst.index or {}), ', ')
      text = text .. ('; expected d%s[%s] = %.6g, actual %.6g'):format(input.name, place, worst.expected, worst.actual)
    end
  end
  return text
end
M.summary = summary

local levels = { failed = vim.log.levels.ERROR, refused = vim.log.levels.WARN }

--- The notification `tad/gradientStatus`.
function M.received(status)
  local by_kernel = M.status[status.uri] or {}
  by_kernel[status.kernel] = status
  M.status[status.uri] = by_kernel
  local key = status.uri .. '#' .. status.kernel
  if M.asked[key] and status.status ~= 'running' and not status.stale then
    M.asked[key] = nil
    vim.notify('tad: ' .. summary(status), levels[status.status] or vim.log.levels.INFO)
  end
  local buffer = vim.uri_to_bufnr(status.uri)
  if vim.api.nvim_buf_is_loaded(buffer) then
    require('tad.client').refresh_lenses(buffer)
  end
end

M.handlers = {
  ['tad/gradientStatus'] = function(problem, result)
    if not problem and result then
      M.received(result)
    end
  end,
}

return M
