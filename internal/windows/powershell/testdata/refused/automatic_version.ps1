$PSVersionTable.PSVersion
