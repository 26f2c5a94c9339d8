<?php

namespace Shop;

enum Size: string
{
    case Small = 's';
    case Large = 'l';
}
