1 -is [Data.DataTable]
