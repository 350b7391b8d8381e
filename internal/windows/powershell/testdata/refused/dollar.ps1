echo $
