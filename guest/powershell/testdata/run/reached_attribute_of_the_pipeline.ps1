function f { param([Parameter(ValueFromPipeline = 'x')]$x) 1 }
