[hashtable]5
