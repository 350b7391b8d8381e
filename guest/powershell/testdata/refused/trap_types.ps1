trap [System.Exception], [System.FormatException] { 1 }
