function f {
  [CmdletBinding( PositionalBinding = $false, HelpUri = 'https://example.com' )]
  [OutputType([string],
              [int])]
  [Alias()]
  param(
    # a comment
    [Parameter(Mandatory,
               Position = 1, # another
               HelpMessage = 'the second')]
    [string] $second,
    [Parameter(Position = 0)][ValidateScript({
      $_ -ne 'bad'
    })] $first,
    [Parameter(ValueFromRemainingArguments = $true)] $rest
  )
  "$first|$second|$($rest -join '+')"
}
f one two; f one two three four; f bad two; f -second 2 1 more
function qr([ValidateRange(1, [int]::MaxValue)][int]$n) { "n $n" }; qr 5; qr '7'; qr 0; qr -n -4
function qr2([ValidateRange(-2.5, 2)]$n) { "n $n" }; qr2 -2; qr2 2.5; qr2 -2.6
function ql([ValidateLength(2, 3)][string[]]$s) { "s $s" }; ql ab, abc; ql a; ql abcd
function qc([ValidateCount(1, 2)][string[]]$s) { "c $s" }; qc a, b; qc a, b, c; qc @()
function qp([ValidatePattern('^v\d+$')]$v) { "v $v" }; qp V12; qp 12
function qs([ValidateScript({ if ($_ -gt 3) { throw 'too many' }; return $true })][int]$n) { "s $n" }; qs 3; qs 4
function nn([ValidateNotNull()]$v, [ValidateNotNullOrEmpty()][string[]]$w) { "nn $v" }; nn ''; nn $null; nn 1 @(); nn 1 ''
function qk([ValidateSet('a', 'b', IgnoreCase = $true)]$v = 'other') { "k $v" }; qk; qk A; qk z
function only([Parameter(DontShow)][AllowEmptyString()]$v) { "only $v $args" }; only 1; try { only 1 2 } catch { "$_" }
1, 9 | ForEach-Object { try { qr2 $_ } catch { "no: $($_.Exception.Message)" } }
function piped { param([Parameter(ValueFromPipeline)][ValidateRange(1, 2)][int]$n) process { "piped $n" } }; '1', '3' | piped
