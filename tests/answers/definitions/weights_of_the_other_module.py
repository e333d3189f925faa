def copy_v2_into_v1(v2, v1):
    v1.W_query = nn.Parameter(v2.W_query.weight)
    v1.W_key = nn.Parameter(v2.W_key.weight)
    v1.W_value = nn.Parameter(v2.W_value.weight)
