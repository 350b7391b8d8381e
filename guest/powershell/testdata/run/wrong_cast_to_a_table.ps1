[hashtable]5
'it goes on'
