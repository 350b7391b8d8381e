sh -c 'exit 3'; "$LASTEXITCODE $?"
function f { sh -c 'exit 4' }
f; "$LASTEXITCODE $?"
exit $LASTEXITCODE
