'x'.psobject.Properties.Remove('Length')
