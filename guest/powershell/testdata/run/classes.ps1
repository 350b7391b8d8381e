# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_classes
# The types of a script are there before its first statement runs.
[Rack]::new().Slots
class Rack : Furniture {
    hidden [int] $Secret = 7
    [ValidateRange(1, 16)][int] $Slots = 8
    [object[]] $Devices = @()
    [string] $Location
    static [int] $Made = 0

    Rack() { [Rack]::Made++ }
    Rack([int]$slots) : base('wide') {
        $this.Slots = $slots
        [Rack]::Made += 1
    }
    Rack([string]$where, [int]$slots) {
        $this.Location = $where; $this.Slots = $slots
        $this.Add($where)
    }

    [void] Add([string]$name) {
        'this output is lost'
        $this.Devices += $name
    }
    [void] Add([int]$count, [string]$name) { foreach ($i in 1..$count) { $this.Add("$name$i") } }
    [string[]] Names() {
        $found = foreach ($d in $this.Devices) { $d.ToUpper() }
        return $found
    }
    [int] Free() {
        if ($this.Devices.Count -gt $this.Slots) { return 0 }
        $taken = 1..3 | ForEach-Object { return $_ }
        return $this.Slots - $this.Devices.Count + $taken.Count - 3
    }
    static [Rack] Of([string]$location) {
        $made = [Rack]::new()
        $made.Location = $location
        return $made
    }
    [string] ToString() { return "a rack of $($this.Slots) in $($this.Location)" }
    [string] Kind() { return 'rack, ' + ([Furniture]$this).Kind() }
    Broken() { throw 'broken' }
    [int] Add1([int]$a) { return $a + 1 }
}
class Furniture {
    [string] $Size = 'small'
    $Any
    Furniture() { }
    Furniture([string]$size) { $this.Size = $size }
    [string] Kind() { return "furniture of size $($this.Size)" }
    [string] Sentence() { return "It is $($this.Kind())." }
}
$r = [Rack]::new(4)
"$r"
$r.Size
$r.Add('a'); $r.Add(2, 'b')
$r.Names() -join ' '
$r.Free()
$r.Kind()
$r.Sentence()
[Rack]::Made
[Rack]::Of('east').Location
([Rack]::new('west', 2)).Devices
$r.GetType().Name; $r.GetType().FullName
$r -is [Rack]; $r -is [Furniture]; [Furniture]::new() -is [Rack]; $r -isnot [Furniture]
$r.Secret
$r | Format-List
$r | Select-Object Size, Slots | ConvertTo-Json -Compress
[Rack]::new(3), $r | Sort-Object Slots | ForEach-Object { $_.Slots }
$c = [Rack]@{ Slots = 5; Location = 'cast' }
"$c"
(New-Object Rack 6).Slots
(New-Object -TypeName Furniture -Property @{ Size = 'set' }).Size
function Takes([Rack]$rack, [Furniture[]]$all) { "$($rack.Slots) $($all.Count)" }
Takes $r @($r, [Furniture]::new())
[Furniture]$typed = 'of one argument'
$typed.Size
try { $r.Slots = 99 } catch { 'out of range' }
try { $r.Slots = 'many' } catch { 'no number' }
$r.Slots = '12'; $r.Slots + 1
try { $r.Nothing = 1 } catch { 'no property' }
try { $r.Broken() } catch { "$_"; $_.ScriptStackTrace.Split("`n")[0] }
try { $r.Add() } catch { $_.FullyQualifiedErrorId; "$_" }
try { [Rack]::new(1, 2, 3) } catch { $_.FullyQualifiedErrorId }
try { $r.Absent() } catch { $_.FullyQualifiedErrorId }
try { [Rack]::Absent() } catch { $_.FullyQualifiedErrorId }
try { [Rack]@{ Nothing = 1 } } catch { "$_" }
try { Takes 5.5 } catch { 'never a rack of a double' }
class Node { [Node]$Next; [int]$Value; Node([int]$v) { $this.Value = $v } }
$n = [Node]::new(1); $n.Next = [Node]::new(2); $n.Next.Value; $null -eq $n.Next.Next
class Deep { [int] Down([int]$n) { return $this.Down($n + 1) } }
try { [Deep]::new().Down(0) } catch { $_.FullyQualifiedErrorId }
$script:level = 'file'
class Sees { [string] Level() { return $script:level } static [string] $At = (Get-Item .).Name.Length.GetType().Name }
[Sees]::new().Level(); [Sees]::At
$name = 'Rack'; ($name -as [type]).FullName; $null -eq ('No.Such' -as [type]); [type]'int' -is [type]
$type = [Rack]; $type::Made -gt 3
if ($true) { class Inner { $X = 1 } [Inner]::new().X }
