function f([Parameter(ValueFromPipeline)]$x) { 1 }
