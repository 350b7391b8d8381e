'1' -as [Data.DataTable]
