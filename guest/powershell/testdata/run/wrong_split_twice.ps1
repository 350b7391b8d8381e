Split-Path a -Leaf -Parent
'it goes on'
