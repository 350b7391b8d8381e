$PSEdition
