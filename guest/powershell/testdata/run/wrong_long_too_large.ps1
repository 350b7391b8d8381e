[long]1e30
'it goes on'
