Split-Path a -Leaf -Parent
