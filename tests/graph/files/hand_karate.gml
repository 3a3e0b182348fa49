Creator "by hand"
graph
[
  directed 0
  node [ id 1 label "Mr. Hi &amp; co" value 0 ]
  node
  [
    id 2
    label "Officer"
    value 1.5
    graphics [ x 1.5 y 2 fill "#ff0000" ]
  ]
  # a comment
  node [ id 3 label "&#228;" ]
  edge [ source 1 target 2 weight 3 ]
  edge [ source 3 target 1 note "a # b" ]
]
