graph [
  directed 1
  node [
    id 0
    label "20"
  ]
  node [
    id 1
    label "4"
  ]
  node [
    id 2
    label "19"
  ]
  node [
    id 3
    label "5"
  ]
  node [
    id 4
    label "16"
  ]
  node [
    id 5
    label "6"
  ]
  node [
    id 6
    label "10"
  ]
  node [
    id 7
    label "17"
  ]
  node [
    id 8
    label "8"
  ]
  node [
    id 9
    label "7"
  ]
  node [
    id 10
    label "12"
  ]
  node [
    id 11
    label "2"
  ]
  node [
    id 12
    label "15"
  ]
  node [
    id 13
    label "1"
  ]
  node [
    id 14
    label "18"
  ]
  node [
    id 15
    label "11"
  ]
  node [
    id 16
    label "13"
  ]
  node [
    id 17
    label "9"
  ]
  edge [
    source 0
    target 1
    weight 15
  ]
  edge [
    source 0
    target 5
    weight 58
  ]
  edge [
    source 0
    target 4
    weight 9
  ]
  edge [
    source 0
    target 16
    weight 26
  ]
  edge [
    source 0
    target 12
    weight 53
  ]
  edge [
    source 0
    target 10
    weight 90
  ]
  edge [
    source 1
    target 5
    weight 74
  ]
  edge [
    source 2
    target 3
    weight 3
  ]
  edge [
    source 2
    target 14
    weight 8
  ]
  edge [
    source 3
    target 7
    weight 66
  ]
  edge [
    source 4
    target 5
    weight 89
  ]
  edge [
    source 4
    target 6
    weight 29
  ]
  edge [
    source 5
    target 0
    weight 79
  ]
  edge [
    source 5
    target 4
    weight 24
  ]
  edge [
    source 5
    target 17
    weight 42
  ]
  edge [
    source 6
    target 1
    weight 42
  ]
  edge [
    source 6
    target 12
    weight 71
  ]
  edge [
    source 6
    target 2
    weight 21
  ]
  edge [
    source 6
    target 7
    weight 69
  ]
  edge [
    source 7
    target 6
    weight 45
  ]
  edge [
    source 7
    target 5
    weight 3
  ]
  edge [
    source 8
    target 7
    weight 65
  ]
  edge [
    source 8
    target 0
    weight 68
  ]
  edge [
    source 8
    target 5
    weight 27
  ]
  edge [
    source 9
    target 10
    weight 6
  ]
  edge [
    source 9
    target 5
    weight 85
  ]
  edge [
    source 9
    target 11
    weight 15
  ]
  edge [
    source 9
    target 3
    weight 21
  ]
  edge [
    source 10
    target 15
    weight 37
  ]
  edge [
    source 10
    target 14
    weight 99
  ]
  edge [
    source 11
    target 10
    weight 83
  ]
  edge [
    source 11
    target 1
    weight 68
  ]
  edge [
    source 12
    target 5
    weight 16
  ]
  edge [
    source 13
    target 9
    weight 0
  ]
  edge [
    source 13
    target 12
    weight 74
  ]
  edge [
    source 14
    target 5
    weight 13
  ]
]
