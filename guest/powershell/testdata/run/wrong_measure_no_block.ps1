& { Measure-Command 1 }
'it goes on'
