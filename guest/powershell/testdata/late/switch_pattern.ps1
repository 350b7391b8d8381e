switch -regex (1) { '(' { 2 } }
