[Net.ServicePointManager]::SecurityProtocol = "Tls9"
