class c { a b }
