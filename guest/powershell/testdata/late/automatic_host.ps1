$Host.Name
