workflow Point { [int]$X; Point([int]$x) { $this.X = "}" } }
data Colour { Red; Green }
try { [Point]::new(1) } catch { "$($_.FullyQualifiedErrorId)" }
try { 'x'::Nothing } catch { "$($_.FullyQualifiedErrorId)" }
try { $null::Nothing } catch { "$($_.FullyQualifiedErrorId)" }
function D { [CmdletBinding()] param() DynamicParam { } end { 1 } }
D
function P { [CmdletBinding(RemotingCapability = 'A')] param() 1 }
try { P } catch { $_.CategoryInfo.Category }
