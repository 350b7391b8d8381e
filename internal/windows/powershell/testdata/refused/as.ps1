'1' -as [xml]
