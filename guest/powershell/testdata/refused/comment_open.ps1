1 <# no end
