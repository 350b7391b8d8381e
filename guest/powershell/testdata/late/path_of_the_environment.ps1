Copy-Item env:X y
