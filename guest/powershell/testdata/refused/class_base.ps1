class c : { }
