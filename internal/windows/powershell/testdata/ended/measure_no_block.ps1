& { Measure-Command 1 }
