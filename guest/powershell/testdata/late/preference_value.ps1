$ErrorActionPreference = 'Inquire'
