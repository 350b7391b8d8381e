$listener.BeginGetContext($a, $b)
