$PSDebugContext.Breakpoints
