$a = @(`
 "--one=$env:COMPUTERNAME", `
 '--two' `
)
$a += '--three'
"$a"
