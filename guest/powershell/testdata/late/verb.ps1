Start-Process sh -Verb RunAs
