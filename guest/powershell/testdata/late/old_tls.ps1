[Net.ServicePointManager]::SecurityProtocol = "Tls11"
