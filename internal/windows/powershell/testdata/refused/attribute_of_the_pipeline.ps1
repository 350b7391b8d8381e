function f { param([Parameter(ValueFromPipeline = 1)]$x) 1 }
