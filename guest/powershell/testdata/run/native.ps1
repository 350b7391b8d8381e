sh -c "echo out; exit 3"
$LASTEXITCODE
