-- The tables of TPC-DS with a few rows each, and with the columns that the queries read. Integer arithmetic stands for chance, so that
-- every database makes the same rows. The constants are those of the queries, so that most of these find rows.

create table call_center as
select
  (1 + i)::integer as cc_call_center_sk,
  'AAAAAAAA' || lpad((1 + i // 2)::varchar, 8, '0') as cc_call_center_id,
  split_part('NY Metro|Mid Atlantic|Pacific Northwest|North Midwest', '|', (i % 4 + 1)::integer) as cc_name,
  split_part('Bob Belcher|Felipe Perkins|Mark Hightower|Larry Mccray', '|', (i % 4 + 1)::integer) as cc_manager,
  split_part('Williamson County|Ziebach County', '|', (i % 2 + 1)::integer) as cc_county
from range(4) t(i);

create table catalog_page as
select
  (1 + i)::integer as cp_catalog_page_sk,
  'AAAAAAAA' || lpad((1 + i)::varchar, 8, '0') as cp_catalog_page_id
from range(20) t(i);

create table catalog_sales as
select
  case when ((i * 3549282 + 834344) % 1000003 * (i % 1075 + 27) % 1000003) % 25 > 0 then (2450815 + ((i * 3541363 + 729615) % 1000003 * (i % 1073 + 26) % 1000003) % 1826)::integer end as cs_sold_date_sk,
  case when ((i * 3565120 + 43799) % 1000003 * (i % 1079 + 29) % 1000003) % 25 > 0 then (60 * (((i * 3557201 + 939073) % 1000003 * (i % 1077 + 28) % 1000003) % 1440))::integer end as cs_sold_time_sk,
  ((case when ((i * 3549282 + 834344) % 1000003 * (i % 1075 + 27) % 1000003) % 25 > 0 then (2450815 + ((i * 3541363 + 729615) % 1000003 * (i % 1073 + 26) % 1000003) % 1826)::integer end) + 2 + ((i * 3580958 + 253257) % 1000003 * (i % 1083 + 31) % 1000003) % 130)::integer as cs_ship_date_sk,
  case when ((i * 3596796 + 462715) % 1000003 * (i % 1087 + 33) % 1000003) % 40 > 0 then (1 + ((i * 3588877 + 357986) % 1000003 * (i % 1085 + 32) % 1000003) % 40)::integer end as cs_bill_customer_sk,
  case when ((i * 3612634 + 672173) % 1000003 * (i % 1011 + 35) % 1000003) % 40 > 0 then (1 + ((i * 3604715 + 567444) % 1000003 * (i % 1009 + 34) % 1000003) % 70)::integer end as cs_bill_cdemo_sk,
  case when ((i * 3628472 + 881631) % 1000003 * (i % 1015 + 37) % 1000003) % 40 > 0 then (1 + ((i * 3620553 + 776902) % 1000003 * (i % 1013 + 36) % 1000003) % 72)::integer end as cs_bill_hdemo_sk,
  case when ((i * 3644310 + 91086) % 1000003 * (i % 1019 + 39) % 1000003) % 40 > 0 then (1 + ((i * 3636391 + 986360) % 1000003 * (i % 1017 + 38) % 1000003) % 50)::integer end as cs_bill_addr_sk,
  case when ((i * 3660148 + 300544) % 1000003 * (i % 1023 + 41) % 1000003) % 40 > 0 then (1 + ((i * 3652229 + 195815) % 1000003 * (i % 1021 + 40) % 1000003) % 40)::integer end as cs_ship_customer_sk,
  case when ((i * 3675986 + 510002) % 1000003 * (i % 1027 + 43) % 1000003) % 40 > 0 then (1 + ((i * 3668067 + 405273) % 1000003 * (i % 1025 + 42) % 1000003) % 50)::integer end as cs_ship_addr_sk,
  case when ((i * 3691824 + 719460) % 1000003 * (i % 1031 + 45) % 1000003) % 40 > 0 then (1 + ((i * 3683905 + 614731) % 1000003 * (i % 1029 + 44) % 1000003) % 4)::integer end as cs_call_center_sk,
  case when ((i * 3707662 + 928918) % 1000003 * (i % 1035 + 47) % 1000003) % 40 > 0 then (1 + ((i * 3699743 + 824189) % 1000003 * (i % 1033 + 46) % 1000003) % 20)::integer end as cs_catalog_page_sk,
  case when ((i * 3723500 + 138373) % 1000003 * (i % 1039 + 49) % 1000003) % 40 > 0 then (1 + ((i * 3715581 + 33644) % 1000003 * (i % 1037 + 48) % 1000003) % 10)::integer end as cs_ship_mode_sk,
  case when ((i * 3739338 + 347831) % 1000003 * (i % 1043 + 51) % 1000003) % 40 > 0 then (1 + ((i * 3731419 + 243102) % 1000003 * (i % 1041 + 50) % 1000003) % 4)::integer end as cs_warehouse_sk,
  (1 + ((i * 3747257 + 452560) % 1000003 * (i % 1045 + 52) % 1000003) % 72)::integer as cs_item_sk,
  case when ((i * 3763095 + 662018) % 1000003 * (i % 1049 + 54) % 1000003) % 40 > 0 then (1 + ((i * 3755176 + 557289) % 1000003 * (i % 1047 + 53) % 1000003) % 12)::integer end as cs_promo_sk,
  (1 + i // 3)::integer as cs_order_number,
  case when ((i * 4071936 + 746437) % 1000003 * (i % 1047 + 93) % 1000003) % 25 > 0 then (1 + ((i * 4064017 + 641708) % 1000003 * (i % 1045 + 92) % 1000003) % 100)::integer end as cs_quantity,
  case when ((i * 4380777 + 830856) % 1000003 * (i % 1045 + 35) % 1000003) % 25 > 0 then ((100 + ((i * 4372858 + 726127) % 1000003 * (i % 1043 + 34) % 1000003) % 9901) / 100.0)::decimal(7,2) end as cs_wholesale_cost,
  case when ((i * 4689618 + 915275) % 1000003 * (i % 1043 + 74) % 1000003) % 25 > 0 then ((100 + ((i * 4681699 + 810546) % 1000003 * (i % 1041 + 73) % 1000003) % 24901) / 100.0)::decimal(7,2) end as cs_list_price,
  case when ((i * 4998459 + 999694) % 1000003 * (i % 1041 + 16) % 1000003) % 25 > 0 then ((0 + ((i * 4990540 + 894965) % 1000003 * (i % 1039 + 15) % 1000003) % 20001) / 100.0)::decimal(7,2) end as cs_sales_price,
  case when ((i * 5307300 + 84110) % 1000003 * (i % 1039 + 55) % 1000003) % 25 > 0 then ((0 + ((i * 5299381 + 979384) % 1000003 * (i % 1037 + 54) % 1000003) % 30001) / 100.0)::decimal(7,2) end as cs_ext_discount_amt,
  case when ((i * 5616141 + 168529) % 1000003 * (i % 1037 + 94) % 1000003) % 25 > 0 then ((0 + ((i * 5608222 + 63800) % 1000003 * (i % 1035 + 93) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cs_ext_sales_price,
  case when ((i * 5924982 + 252948) % 1000003 * (i % 1035 + 36) % 1000003) % 25 > 0 then ((0 + ((i * 5917063 + 148219) % 1000003 * (i % 1033 + 35) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cs_ext_wholesale_cost,
  case when ((i * 6233823 + 337367) % 1000003 * (i % 1033 + 75) % 1000003) % 25 > 0 then ((0 + ((i * 6225904 + 232638) % 1000003 * (i % 1031 + 74) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cs_ext_list_price,
  ((0 + ((i * 6534745 + 317057) % 1000003 * (i % 1029 + 16) % 1000003) % 3001) / 100.0)::decimal(7,2) as cs_coupon_amt,
  case when ((i * 6843586 + 401476) % 1000003 * (i % 1027 + 55) % 1000003) % 25 > 0 then ((0 + ((i * 6835667 + 296747) % 1000003 * (i % 1025 + 54) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cs_ext_ship_cost,
  case when ((i * 7152427 + 485895) % 1000003 * (i % 1025 + 94) % 1000003) % 25 > 0 then ((0 + ((i * 7144508 + 381166) % 1000003 * (i % 1023 + 93) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cs_net_paid,
  case when ((i * 7461268 + 570314) % 1000003 * (i % 1023 + 36) % 1000003) % 25 > 0 then ((0 + ((i * 7453349 + 465585) % 1000003 * (i % 1021 + 35) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cs_net_paid_inc_tax,
  case when ((i * 7770109 + 654733) % 1000003 * (i % 1021 + 75) % 1000003) % 25 > 0 then ((((i * 7762190 + 550004) % 1000003 * (i % 1019 + 74) % 1000003) % 180001 - 90000) / 100.0)::decimal(7,2) end as cs_net_profit
from range(6000) t(i);

create table customer as
select
  (1 + i)::integer as c_customer_sk,
  'AAAAAAAA' || lpad((1 + i)::varchar, 8, '0') as c_customer_id,
  case when ((i * 7785947 + 864191) % 1000003 * (i % 1025 + 77) % 1000003) % 40 > 0 then (1 + ((i * 7778028 + 759462) % 1000003 * (i % 1023 + 76) % 1000003) % 70)::integer end as c_current_cdemo_sk,
  case when ((i * 7801785 + 73646) % 1000003 * (i % 1029 + 79) % 1000003) % 40 > 0 then (1 + ((i * 7793866 + 968920) % 1000003 * (i % 1027 + 78) % 1000003) % 72)::integer end as c_current_hdemo_sk,
  case when ((i * 7817623 + 283104) % 1000003 * (i % 1033 + 81) % 1000003) % 40 > 0 then (1 + ((i * 7809704 + 178375) % 1000003 * (i % 1031 + 80) % 1000003) % 50)::integer end as c_current_addr_sk,
  case when ((i * 7833461 + 492562) % 1000003 * (i % 1037 + 83) % 1000003) % 25 > 0 then (2450815 + ((i * 7825542 + 387833) % 1000003 * (i % 1035 + 82) % 1000003) % 1826)::integer end as c_first_shipto_date_sk,
  case when ((i * 7849299 + 702020) % 1000003 * (i % 1041 + 85) % 1000003) % 25 > 0 then (2450815 + ((i * 7841380 + 597291) % 1000003 * (i % 1039 + 84) % 1000003) % 1826)::integer end as c_first_sales_date_sk,
  case when ((i * 7983922 + 482407) % 1000003 * (i % 1075 + 102) % 1000003) % 25 > 0 then split_part('Mr.|Mrs.|Ms.|Dr.|Sir|Miss', '|', (((i * 7976003 + 377678) % 1000003 * (i % 1073 + 101) % 1000003) % 6 + 1)::integer) end as c_salutation,
  case when ((i * 8292763 + 566826) % 1000003 * (i % 1073 + 44) % 1000003) % 25 > 0 then split_part('James|Mary|John|Ana|Lee|Kim|Omar|Zoe|Ivan|Ruth', '|', (((i * 8284844 + 462097) % 1000003 * (i % 1071 + 43) % 1000003) % 10 + 1)::integer) end as c_first_name,
  case when ((i * 8601604 + 651245) % 1000003 * (i % 1071 + 83) % 1000003) % 25 > 0 then split_part('Smith|Jones|Brown|Garcia|Miller|Davis|Wilson|Lopez', '|', (((i * 8593685 + 546516) % 1000003 * (i % 1069 + 82) % 1000003) % 8 + 1)::integer) end as c_last_name,
  case when ((i * 8910445 + 735664) % 1000003 * (i % 1069 + 25) % 1000003) % 25 > 0 then split_part('Y|N', '|', (((i * 8902526 + 630935) % 1000003 * (i % 1067 + 24) % 1000003) % 2 + 1)::integer) end as c_preferred_cust_flag,
  (1 + ((i * 9211367 + 715354) % 1000003 * (i % 1065 + 63) % 1000003) % 28)::integer as c_birth_day,
  (1 + ((i * 9512289 + 695044) % 1000003 * (i % 1061 + 101) % 1000003) % 12)::integer as c_birth_month,
  (1930 + ((i * 9813211 + 674734) % 1000003 * (i % 1057 + 42) % 1000003) % 61)::integer as c_birth_year,
  split_part('CHILE|PERU|TOGO|UNITED STATES|NEPAL', '|', (((i * 10114133 + 654424) % 1000003 * (i % 1053 + 80) % 1000003) % 5 + 1)::integer) as c_birth_country,
  'login' as c_login,
  'c' || i::varchar || 'example.org' as c_email_address,
  case when ((i * 10795167 + 661091) % 1000003 * (i % 1065 + 69) % 1000003) % 25 > 0 then (2450815 + ((i * 10787248 + 556362) % 1000003 * (i % 1063 + 68) % 1000003) % 1826)::integer end as c_last_review_date_sk
from range(40) t(i);

create table customer_address as
select
  (1 + i)::integer as ca_address_sk,
  (100 + i)::varchar as ca_street_number,
  'street name ' || (i % 5)::varchar as ca_street_name,
  'street type ' || (i % 5)::varchar as ca_street_type,
  'suite number ' || (i % 5)::varchar as ca_suite_number,
  split_part('Midway|Fairview|Oak Grove|Five Points|Pleasant Hill|Centerville|Edgewood|Riverside', '|', (((i * 12196830 + 198067) % 1000003 * (i % 1019 + 52) % 1000003) % 8 + 1)::integer) as ca_city,
  split_part('Williamson County|Walker County|Ziebach County|Rush County|Toole County|Jefferson County|Dona Ana County|La Porte County|Daviess County|Barrow County|Franklin Parish|Luce County|Richland County|Huron County|Fairfield County|Bronx County|Orange County|Maverick County|Mesa County|Raleigh County|Oglethorpe County|Ziebach County', '|', (((i * 12497752 + 177757) % 1000003 * (i % 1015 + 90) % 1000003) % 22 + 1)::integer) as ca_county,
  split_part('TN|GA|TX|OH|KY|VA|MS|CA|IN|WA|NM|OR|IL|WI|NC|ND|OK|LA|IA|AL', '|', (((i * 12774917 + 843263) % 1000003 * (i % 1085 + 28) % 1000003) % 20 + 1)::integer) as ca_state,
  split_part('24128|76232|65084|87816|83926|77556|85669|86197|88274|83405|86475|85392|85460|80348|81792|35474|57834|13394|36446', '|', (((i * 13091677 + 32408) % 1000003 * (i % 1085 + 68) % 1000003) % 19 + 1)::integer) as ca_zip,
  'United States' as ca_country,
  (case when i % 3 = 0 then -6 else -5 end)::decimal(5,2) as ca_gmt_offset,
  split_part('condo|apartment|single family', '|', (((i * 13978605 + 762023) % 1000003 * (i % 1069 + 83) % 1000003) % 3 + 1)::integer) as ca_location_type
from range(50) t(i);

create table customer_demographics as
select
  (1 + i)::integer as cd_demo_sk,
  split_part('M|F', '|', (i % 2 + 1)::integer) as cd_gender,
  split_part('M|S|D|W|U', '|', ((i // 2) % 5 + 1)::integer) as cd_marital_status,
  split_part('Primary|Secondary|College|2 yr Degree|4 yr Degree|Advanced Degree|Unknown', '|', ((i // 10) % 7 + 1)::integer) as cd_education_status,
  (500 * (1 + ((i * 14928885 + 329464) % 1000003 * (i % 1069 + 106) % 1000003) % 20))::integer as cd_purchase_estimate,
  split_part('Low Risk|Good|High Risk|Unknown', '|', (((i * 15229807 + 309154) % 1000003 * (i % 1065 + 47) % 1000003) % 4 + 1)::integer) as cd_credit_rating,
  (0 + ((i * 15530729 + 288844) % 1000003 * (i % 1061 + 85) % 1000003) % 7)::integer as cd_dep_count,
  (0 + ((i * 15831651 + 268534) % 1000003 * (i % 1057 + 26) % 1000003) % 7)::integer as cd_dep_employed_count,
  (0 + ((i * 16132573 + 248224) % 1000003 * (i % 1053 + 64) % 1000003) % 7)::integer as cd_dep_college_count
from range(70) t(i);

create table date_dim as
select
  (2450815 + i)::integer as d_date_sk,
  (date '1998-01-01' + i::integer) as d_date,
  (1176 + 12 * (year((date '1998-01-01' + i::integer)) - 1998) + month((date '1998-01-01' + i::integer)) - 1)::integer as d_month_seq,
  (5114 + (i + 3) // 7)::integer as d_week_seq,
  year((date '1998-01-01' + i::integer))::integer as d_year,
  dayofweek((date '1998-01-01' + i::integer))::integer as d_dow,
  month((date '1998-01-01' + i::integer))::integer as d_moy,
  day((date '1998-01-01' + i::integer))::integer as d_dom,
  quarter((date '1998-01-01' + i::integer))::integer as d_qoy,
  dayname((date '1998-01-01' + i::integer)) as d_day_name,
  year((date '1998-01-01' + i::integer))::varchar || 'Q' || quarter((date '1998-01-01' + i::integer))::varchar as d_quarter_name
from range(2192) t(i);

create table household_demographics as
select
  (1 + i)::integer as hd_demo_sk,
  (1 + ((i * 16425576 + 123185) % 1000003 * (i % 1047 + 101) % 1000003) % 20)::integer as hd_income_band_sk,
  split_part('Unknown|>10000|0-500|501-1000|1001-5000|5001-10000', '|', (((i * 16433495 + 227914) % 1000003 * (i % 1049 + 102) % 1000003) % 6 + 1)::integer) as hd_buy_potential,
  (0 + ((i * 16734417 + 207604) % 1000003 * (i % 1045 + 43) % 1000003) % 10)::integer as hd_dep_count,
  (0 + ((i * 17035339 + 187294) % 1000003 * (i % 1041 + 81) % 1000003) % 5)::integer as hd_vehicle_count
from range(72) t(i);

create table income_band as
select
  (1 + i)::integer as ib_income_band_sk,
  (10000 * i + case when i > 0 then 1 else 0 end)::integer as ib_lower_bound,
  (10000 * (i + 1))::integer as ib_upper_bound
from range(20) t(i);

create table inventory as
select
  (2451180 + 7 * (((i * 17906429 + 707451) % 1000003 * (i % 1021 + 94) % 1000003) % 208))::integer as inv_date_sk,
  (1 + ((i * 17914348 + 812180) % 1000003 * (i % 1023 + 95) % 1000003) % 72)::integer as inv_item_sk,
  (1 + ((i * 17922267 + 916909) % 1000003 * (i % 1025 + 96) % 1000003) % 4)::integer as inv_warehouse_sk,
  case when ((i * 18215270 + 791870) % 1000003 * (i % 1019 + 36) % 1000003) % 25 > 0 then (0 + ((i * 18207351 + 687141) % 1000003 * (i % 1017 + 35) % 1000003) % 1001)::integer end as inv_quantity_on_hand
from range(5000) t(i);

create table item as
select
  (1 + i)::integer as i_item_sk,
  'AAAAAAAA' || lpad((1 + i // 2)::varchar, 8, '0') as i_item_id,
  'description ' || (i // 2)::varchar as i_item_desc,
  (case i % 4 when 0 then 0.99 + ((i * 18611220 + 28302) % 1000003 * (i % 1039 + 86) % 1000003) % 50 / 100.0 when 1 then 62 + ((i * 18619139 + 133031) % 1000003 * (i % 1041 + 87) % 1000003) % 3600 / 100.0 else 0.5 + ((i * 18627058 + 237760) % 1000003 * (i % 1043 + 88) % 1000003) % 9900 / 100.0 end)::decimal(7,2) as i_current_price,
  case when ((i * 19110117 + 626211) % 1000003 * (i % 1085 + 52) % 1000003) % 25 > 0 then ((100 + ((i * 19102198 + 521482) % 1000003 * (i % 1083 + 51) % 1000003) % 9901) / 100.0)::decimal(7,2) end as i_wholesale_cost,
  (1001001 + 1000 * (i // 3 % 10))::integer as i_brand_id,
  split_part('scholaramalgamalg #9|scholaramalgamalg #7|scholaramalgamalg #14|exportiunivamalg #9|importoamalg #1|edu packscholar #1|exportiimporto #1|amalgimporto #1|corpbrand #3|univmaxi #5', '|', ((i // 3) % 10 + 1)::integer) as i_brand,
  (1 + i // 10 % 3)::integer as i_class_id,
  split_part('dresses|pants|infants|athletic|classical|pendants|lighting|football|reference|portable|accessories|shirts|newborn|mens|pop|birdal|curtains/drapes|golf|self-help|stereo|fragrances|personal|maternity|womens|rock|estate|bedding|tennis|computers|televisions', '|', ((i % 10 + i // 10 % 3 * 10) % 30 + 1)::integer) as i_class,
  (1 + i % 10)::integer as i_category_id,
  case when ((i * 20646403 + 943577) % 1000003 * (i % 1073 + 52) % 1000003) % 40 > 0 then split_part('Women|Men|Children|Shoes|Music|Jewelry|Home|Sports|Books|Electronics', '|', (i % 10 + 1)::integer) end as i_category,
  split_part('677|940|694|808|129|270|821|423|128|742|745|750|762|977', '|', (i % 14 + 1)::integer)::integer as i_manufact_id,
  split_part('ought|able|pri|ese|anti', '|', (((i * 21240328 + 798228) % 1000003 * (i % 1063 + 30) % 1000003) % 5 + 1)::integer) as i_manufact,
  split_part('petite|small|medium|large|extra large|N/A|economy', '|', (((i * 21541250 + 777918) % 1000003 * (i % 1059 + 68) % 1000003) % 7 + 1)::integer) as i_size,
  split_part('slate|blanched|burnished|pale|chiffon|smoke|lace|powder|khaki|brown|honeydew|floral|deep|light|cornflower|midnight|snow|cyan|papaya|orange|frosted|forest|ghost|purple|burlywood|peach|saddle|steel|turquoise|sandy|misty|almond|indian|dim|spring|white', '|', (i % 36 + 1)::integer) as i_color,
  split_part('Ounce|Oz|Bunch|Ton|Box|Each|Case|Pound|Dram|Cup|Gram|Pallet|Tbl|Lb|Bundle|N/A', '|', (((i * 22135175 + 632569) % 1000003 * (i % 1049 + 46) % 1000003) % 16 + 1)::integer) as i_units,
  split_part('1|8|28|36|2|40', '|', (i % 6 + 1)::integer)::integer as i_manager_id,
  'product ' || i::varchar as i_product_name
from range(72) t(i);

create table promotion as
select
  (1 + i)::integer as p_promo_sk,
  split_part('N|Y', '|', (((i * 23220078 + 980400) % 1000003 * (i % 1083 + 86) % 1000003) % 2 + 1)::integer) as p_channel_dmail,
  split_part('N|Y', '|', (((i * 23521000 + 960090) % 1000003 * (i % 1079 + 27) % 1000003) % 2 + 1)::integer) as p_channel_email,
  split_part('N|Y', '|', (((i * 23821922 + 939780) % 1000003 * (i % 1075 + 65) % 1000003) % 2 + 1)::integer) as p_channel_tv,
  split_part('N|Y', '|', (((i * 24122844 + 919470) % 1000003 * (i % 1071 + 103) % 1000003) % 2 + 1)::integer) as p_channel_event
from range(12) t(i);

create table reason as
select
  (1 + i)::integer as r_reason_sk,
  'reason ' || (i + 1)::varchar as r_reason_desc
from range(35) t(i);

create table ship_mode as
select
  (1 + i)::integer as sm_ship_mode_sk,
  split_part('EXPRESS|LIBRARY|OVERNIGHT|REGULAR|TWO DAY', '|', (i % 5 + 1)::integer) as sm_type,
  split_part('DHL|BARIAN|UPS|FEDEX|AIRBORNE', '|', ((i // 2) % 5 + 1)::integer) as sm_carrier
from range(10) t(i);

create table store as
select
  (1 + i)::integer as s_store_sk,
  'AAAAAAAA' || lpad((1 + i // 2)::varchar, 8, '0') as s_store_id,
  split_part('ought|able|pri|ese|anti|cally', '|', (i % 6 + 1)::integer) as s_store_name,
  (200 + ((i * 25556183 + 875362) % 1000003 * (i % 1033 + 90) % 1000003) % 101)::integer as s_number_employees,
  (5 + i)::integer as s_market_id,
  1::integer as s_company_id,
  'Unknown' as s_company_name,
  (100 + i)::varchar as s_street_number,
  'street name ' || (i % 5)::varchar as s_street_name,
  'street type ' || (i % 5)::varchar as s_street_type,
  'suite number ' || (i % 5)::varchar as s_suite_number,
  split_part('Midway|Fairview|Midway', '|', (i % 3 + 1)::integer) as s_city,
  split_part('Williamson County|Ziebach County|Walker County|Daviess County', '|', (i % 4 + 1)::integer) as s_county,
  split_part('TN|TN|GA|TN|TX|OH', '|', (i % 6 + 1)::integer) as s_state,
  split_part('24128|76232|65084|87816|83926|77556|85669|86197|88274|83405|86475|85392|85460|80348|81792|35474|57834|13394|36446', '|', (i % 19 + 1)::integer) as s_zip,
  (case when i % 4 = 3 then -6 else -5 end)::decimal(5,2) as s_gmt_offset
from range(6) t(i);

create table store_sales as
select
  case when ((i // 16 * 29119733 + 3268) % 1000003 * (i // 16 % 1053 + 55) % 1000003) % 25 > 0 then (2450815 + ((i // 16 * 29111814 + 898542) % 1000003 * (i // 16 % 1051 + 54) % 1000003) % 1826)::integer end as ss_sold_date_sk,
  case when ((i * 29135571 + 212726) % 1000003 * (i % 1057 + 57) % 1000003) % 25 > 0 then (60 * (((i * 29127652 + 107997) % 1000003 * (i % 1055 + 56) % 1000003) % 1440))::integer end as ss_sold_time_sk,
  (1 + ((i * 29143490 + 317455) % 1000003 * (i % 1059 + 58) % 1000003) % 72)::integer as ss_item_sk,
  case when ((i // 16 * 29159328 + 526913) % 1000003 * (i // 16 % 1063 + 60) % 1000003) % 40 > 0 then (1 + ((i // 16 * 29151409 + 422184) % 1000003 * (i // 16 % 1061 + 59) % 1000003) % 40)::integer end as ss_customer_sk,
  case when ((i // 16 * 29175166 + 736371) % 1000003 * (i // 16 % 1067 + 62) % 1000003) % 40 > 0 then (1 + ((i // 16 * 29167247 + 631642) % 1000003 * (i // 16 % 1065 + 61) % 1000003) % 70)::integer end as ss_cdemo_sk,
  case when ((i // 16 * 29191004 + 945829) % 1000003 * (i // 16 % 1071 + 64) % 1000003) % 40 > 0 then (1 + ((i // 16 * 29183085 + 841100) % 1000003 * (i // 16 % 1069 + 63) % 1000003) % 72)::integer end as ss_hdemo_sk,
  case when ((i // 16 * 29206842 + 155284) % 1000003 * (i // 16 % 1075 + 66) % 1000003) % 40 > 0 then (1 + ((i // 16 * 29198923 + 50555) % 1000003 * (i // 16 % 1073 + 65) % 1000003) % 50)::integer end as ss_addr_sk,
  case when ((i // 16 * 29222680 + 364742) % 1000003 * (i // 16 % 1079 + 68) % 1000003) % 40 > 0 then (1 + ((i // 16 * 29214761 + 260013) % 1000003 * (i // 16 % 1077 + 67) % 1000003) % 6)::integer end as ss_store_sk,
  case when ((i * 29238518 + 574200) % 1000003 * (i % 1083 + 70) % 1000003) % 40 > 0 then (1 + ((i * 29230599 + 469471) % 1000003 * (i % 1081 + 69) % 1000003) % 12)::integer end as ss_promo_sk,
  (1 + i // 16)::integer as ss_ticket_number,
  case when ((i * 29547359 + 658619) % 1000003 * (i % 1081 + 12) % 1000003) % 25 > 0 then (1 + ((i * 29539440 + 553890) % 1000003 * (i % 1079 + 11) % 1000003) % 100)::integer end as ss_quantity,
  case when ((i * 29856200 + 743038) % 1000003 * (i % 1079 + 51) % 1000003) % 25 > 0 then ((100 + ((i * 29848281 + 638309) % 1000003 * (i % 1077 + 50) % 1000003) % 9901) / 100.0)::decimal(7,2) end as ss_wholesale_cost,
  case when ((i * 30165041 + 827457) % 1000003 * (i % 1077 + 90) % 1000003) % 25 > 0 then ((100 + ((i * 30157122 + 722728) % 1000003 * (i % 1075 + 89) % 1000003) % 24901) / 100.0)::decimal(7,2) end as ss_list_price,
  case when ((i * 30473882 + 911876) % 1000003 * (i % 1075 + 32) % 1000003) % 25 > 0 then ((0 + ((i * 30465963 + 807147) % 1000003 * (i % 1073 + 31) % 1000003) % 20001) / 100.0)::decimal(7,2) end as ss_sales_price,
  case when ((i * 30782723 + 996295) % 1000003 * (i % 1073 + 71) % 1000003) % 25 > 0 then ((0 + ((i * 30774804 + 891566) % 1000003 * (i % 1071 + 70) % 1000003) % 30001) / 100.0)::decimal(7,2) end as ss_ext_discount_amt,
  case when ((i * 31091564 + 80711) % 1000003 * (i % 1071 + 13) % 1000003) % 25 > 0 then ((0 + ((i * 31083645 + 975985) % 1000003 * (i % 1069 + 12) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ss_ext_sales_price,
  case when ((i * 31400405 + 165130) % 1000003 * (i % 1069 + 52) % 1000003) % 25 > 0 then ((0 + ((i * 31392486 + 60401) % 1000003 * (i % 1067 + 51) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ss_ext_wholesale_cost,
  case when ((i * 31709246 + 249549) % 1000003 * (i % 1067 + 91) % 1000003) % 25 > 0 then ((0 + ((i * 31701327 + 144820) % 1000003 * (i % 1065 + 90) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ss_ext_list_price,
  case when ((i * 32018087 + 333968) % 1000003 * (i % 1065 + 33) % 1000003) % 25 > 0 then ((0 + ((i * 32010168 + 229239) % 1000003 * (i % 1063 + 32) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ss_ext_tax,
  ((0 + ((i * 32319009 + 313658) % 1000003 * (i % 1061 + 71) % 1000003) % 3001) / 100.0)::decimal(7,2) as ss_coupon_amt,
  case when ((i * 32627850 + 398077) % 1000003 * (i % 1059 + 13) % 1000003) % 25 > 0 then ((0 + ((i * 32619931 + 293348) % 1000003 * (i % 1057 + 12) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ss_net_paid,
  case when ((i * 32936691 + 482496) % 1000003 * (i % 1057 + 52) % 1000003) % 25 > 0 then ((((i * 32928772 + 377767) % 1000003 * (i % 1055 + 51) % 1000003) % 180001 - 90000) / 100.0)::decimal(7,2) end as ss_net_profit
from range(9000) t(i);

create table time_dim as
select
  (60 * i)::integer as t_time_sk,
  (60 * i)::integer as t_time,
  (i // 60)::integer as t_hour,
  (i % 60)::integer as t_minute,
  case when i // 60 between 6 and 8 then 'breakfast' when i // 60 between 11 and 13 then 'lunch' when i // 60 between 17 and 20 then 'dinner' end as t_meal_time
from range(1440) t(i);

create table warehouse as
select
  (1 + i)::integer as w_warehouse_sk,
  split_part('Conventional childr|Important issues liv|Doors canno|Bad cards must make.', '|', (i % 4 + 1)::integer) as w_warehouse_name,
  (50000 + ((i * 33498940 + 918234) % 1000003 * (i % 1039 + 26) % 1000003) % 940001)::integer as w_warehouse_sq_ft,
  split_part('Midway|Fairview|Oak Grove|Five Points|Pleasant Hill|Centerville|Edgewood|Riverside', '|', (i % 8 + 1)::integer) as w_city,
  split_part('Williamson County|Walker County|Ziebach County|Rush County|Toole County|Jefferson County|Dona Ana County|La Porte County|Daviess County|Barrow County|Franklin Parish|Luce County|Richland County|Huron County|Fairfield County|Bronx County|Orange County|Maverick County|Mesa County|Raleigh County|Oglethorpe County|Ziebach County', '|', (i % 22 + 1)::integer) as w_county,
  split_part('TN|GA|TX|OH|KY|VA|MS|CA|IN|WA|NM|OR|IL|WI|NC|ND|OK|LA|IA|AL', '|', (i % 20 + 1)::integer) as w_state,
  'United States' as w_country
from range(4) t(i);

create table web_page as
select
  (1 + i)::integer as wp_web_page_sk,
  (4900 + ((i * 34971874 + 397768) % 1000003 * (i % 1011 + 18) % 1000003) % 400)::integer as wp_char_count
from range(8) t(i);

create table web_sales as
select
  case when ((i * 35003550 + 816684) % 1000003 * (i % 1019 + 22) % 1000003) % 25 > 0 then (2450815 + ((i * 34995631 + 711955) % 1000003 * (i % 1017 + 21) % 1000003) % 1826)::integer end as ws_sold_date_sk,
  case when ((i * 35019388 + 26139) % 1000003 * (i % 1023 + 24) % 1000003) % 25 > 0 then (60 * (((i * 35011469 + 921413) % 1000003 * (i % 1021 + 23) % 1000003) % 1440))::integer end as ws_sold_time_sk,
  ((case when ((i * 35003550 + 816684) % 1000003 * (i % 1019 + 22) % 1000003) % 25 > 0 then (2450815 + ((i * 34995631 + 711955) % 1000003 * (i % 1017 + 21) % 1000003) % 1826)::integer end) + 2 + ((i * 35035226 + 235597) % 1000003 * (i % 1027 + 26) % 1000003) % 130)::integer as ws_ship_date_sk,
  (1 + ((i * 35043145 + 340326) % 1000003 * (i % 1029 + 27) % 1000003) % 72)::integer as ws_item_sk,
  case when ((i * 35058983 + 549784) % 1000003 * (i % 1033 + 29) % 1000003) % 40 > 0 then (1 + ((i * 35051064 + 445055) % 1000003 * (i % 1031 + 28) % 1000003) % 40)::integer end as ws_bill_customer_sk,
  case when ((i * 35074821 + 759242) % 1000003 * (i % 1037 + 31) % 1000003) % 40 > 0 then (1 + ((i * 35066902 + 654513) % 1000003 * (i % 1035 + 30) % 1000003) % 50)::integer end as ws_bill_addr_sk,
  case when ((i * 35090659 + 968700) % 1000003 * (i % 1041 + 33) % 1000003) % 40 > 0 then (1 + ((i * 35082740 + 863971) % 1000003 * (i % 1039 + 32) % 1000003) % 40)::integer end as ws_ship_customer_sk,
  case when ((i * 35106497 + 178155) % 1000003 * (i % 1045 + 35) % 1000003) % 40 > 0 then (1 + ((i * 35098578 + 73426) % 1000003 * (i % 1043 + 34) % 1000003) % 72)::integer end as ws_ship_hdemo_sk,
  case when ((i * 35122335 + 387613) % 1000003 * (i % 1049 + 37) % 1000003) % 40 > 0 then (1 + ((i * 35114416 + 282884) % 1000003 * (i % 1047 + 36) % 1000003) % 50)::integer end as ws_ship_addr_sk,
  case when ((i * 35138173 + 597071) % 1000003 * (i % 1053 + 39) % 1000003) % 40 > 0 then (1 + ((i * 35130254 + 492342) % 1000003 * (i % 1051 + 38) % 1000003) % 8)::integer end as ws_web_page_sk,
  case when ((i * 35154011 + 806529) % 1000003 * (i % 1057 + 41) % 1000003) % 40 > 0 then (1 + ((i * 35146092 + 701800) % 1000003 * (i % 1055 + 40) % 1000003) % 5)::integer end as ws_web_site_sk,
  case when ((i * 35169849 + 15984) % 1000003 * (i % 1061 + 43) % 1000003) % 40 > 0 then (1 + ((i * 35161930 + 911258) % 1000003 * (i % 1059 + 42) % 1000003) % 10)::integer end as ws_ship_mode_sk,
  case when ((i * 35185687 + 225442) % 1000003 * (i % 1065 + 45) % 1000003) % 40 > 0 then (1 + ((i * 35177768 + 120713) % 1000003 * (i % 1063 + 44) % 1000003) % 4)::integer end as ws_warehouse_sk,
  case when ((i * 35201525 + 434900) % 1000003 * (i % 1069 + 47) % 1000003) % 40 > 0 then (1 + ((i * 35193606 + 330171) % 1000003 * (i % 1067 + 46) % 1000003) % 12)::integer end as ws_promo_sk,
  (1 + i // 3)::integer as ws_order_number,
  case when ((i * 35510366 + 519319) % 1000003 * (i % 1067 + 86) % 1000003) % 25 > 0 then (1 + ((i * 35502447 + 414590) % 1000003 * (i % 1065 + 85) % 1000003) % 100)::integer end as ws_quantity,
  case when ((i * 35819207 + 603738) % 1000003 * (i % 1065 + 28) % 1000003) % 25 > 0 then ((100 + ((i * 35811288 + 499009) % 1000003 * (i % 1063 + 27) % 1000003) % 9901) / 100.0)::decimal(7,2) end as ws_wholesale_cost,
  case when ((i * 36128048 + 688157) % 1000003 * (i % 1063 + 67) % 1000003) % 25 > 0 then ((100 + ((i * 36120129 + 583428) % 1000003 * (i % 1061 + 66) % 1000003) % 24901) / 100.0)::decimal(7,2) end as ws_list_price,
  case when ((i * 36436889 + 772576) % 1000003 * (i % 1061 + 106) % 1000003) % 25 > 0 then ((0 + ((i * 36428970 + 667847) % 1000003 * (i % 1059 + 105) % 1000003) % 20001) / 100.0)::decimal(7,2) end as ws_sales_price,
  case when ((i * 36745730 + 856995) % 1000003 * (i % 1059 + 48) % 1000003) % 25 > 0 then ((0 + ((i * 36737811 + 752266) % 1000003 * (i % 1057 + 47) % 1000003) % 30001) / 100.0)::decimal(7,2) end as ws_ext_discount_amt,
  case when ((i * 37054571 + 941414) % 1000003 * (i % 1057 + 87) % 1000003) % 25 > 0 then ((0 + ((i * 37046652 + 836685) % 1000003 * (i % 1055 + 86) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ws_ext_sales_price,
  case when ((i * 37363412 + 25830) % 1000003 * (i % 1055 + 29) % 1000003) % 25 > 0 then ((0 + ((i * 37355493 + 921104) % 1000003 * (i % 1053 + 28) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ws_ext_wholesale_cost,
  case when ((i * 37672253 + 110249) % 1000003 * (i % 1053 + 68) % 1000003) % 25 > 0 then ((0 + ((i * 37664334 + 5520) % 1000003 * (i % 1051 + 67) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ws_ext_list_price,
  case when ((i * 37981094 + 194668) % 1000003 * (i % 1051 + 107) % 1000003) % 25 > 0 then ((0 + ((i * 37973175 + 89939) % 1000003 * (i % 1049 + 106) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ws_ext_ship_cost,
  case when ((i * 38289935 + 279087) % 1000003 * (i % 1049 + 49) % 1000003) % 25 > 0 then ((0 + ((i * 38282016 + 174358) % 1000003 * (i % 1047 + 48) % 1000003) % 150001) / 100.0)::decimal(7,2) end as ws_net_paid,
  case when ((i * 38598776 + 363506) % 1000003 * (i % 1047 + 88) % 1000003) % 25 > 0 then ((((i * 38590857 + 258777) % 1000003 * (i % 1045 + 87) % 1000003) % 180001 - 90000) / 100.0)::decimal(7,2) end as ws_net_profit
from range(4000) t(i);

create table web_site as
select
  (1 + i)::integer as web_site_sk,
  'AAAAAAAA' || lpad((1 + i // 2)::varchar, 8, '0') as web_site_id,
  'site_' || (i // 2)::varchar as web_name,
  split_part('pri|able|ought|pri|anti', '|', (i % 5 + 1)::integer) as web_company_name
from range(5) t(i);

create table catalog_returns as
select
  (cs_sold_date_sk + 3 + ((i * 39192701 + 218157) % 1000003 * (i % 1037 + 66) % 1000003) % 60)::integer as cr_returned_date_sk,
  cs_item_sk as cr_item_sk,
  cs_bill_customer_sk as cr_returning_customer_sk,
  cs_bill_addr_sk as cr_returning_addr_sk,
  cs_call_center_sk as cr_call_center_sk,
  cs_catalog_page_sk as cr_catalog_page_sk,
  cs_order_number as cr_order_number,
  (1 + ((i * 39200620 + 322886) % 1000003 * (i % 1039 + 67) % 1000003) % 20)::integer as cr_return_quantity,
  case when ((i * 39509461 + 407305) % 1000003 * (i % 1037 + 106) % 1000003) % 25 > 0 then ((0 + ((i * 39501542 + 302576) % 1000003 * (i % 1035 + 105) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cr_return_amount,
  case when ((i * 39818302 + 491724) % 1000003 * (i % 1035 + 48) % 1000003) % 25 > 0 then ((0 + ((i * 39810383 + 386995) % 1000003 * (i % 1033 + 47) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cr_return_amt_inc_tax,
  case when ((i * 40127143 + 576143) % 1000003 * (i % 1033 + 87) % 1000003) % 25 > 0 then ((0 + ((i * 40119224 + 471414) % 1000003 * (i % 1031 + 86) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cr_refunded_cash,
  case when ((i * 40435984 + 660562) % 1000003 * (i % 1031 + 29) % 1000003) % 25 > 0 then ((0 + ((i * 40428065 + 555833) % 1000003 * (i % 1029 + 28) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cr_reversed_charge,
  case when ((i * 40744825 + 744981) % 1000003 * (i % 1029 + 68) % 1000003) % 25 > 0 then ((0 + ((i * 40736906 + 640252) % 1000003 * (i % 1027 + 67) % 1000003) % 150001) / 100.0)::decimal(7,2) end as cr_store_credit,
  case when ((i * 41053666 + 829400) % 1000003 * (i % 1027 + 107) % 1000003) % 25 > 0 then ((((i * 41045747 + 724671) % 1000003 * (i % 1025 + 106) % 1000003) % 180001 - 90000) / 100.0)::decimal(7,2) end as cr_net_loss
from (select *, row_number() over (order by cs_order_number, cs_item_sk)::bigint as i from catalog_sales) where i % 2 = 0;

create table store_returns as
select
  (ss_sold_date_sk + 3 + ((i * 41061585 + 934129) % 1000003 * (i % 1029 + 11) % 1000003) % 60)::integer as sr_returned_date_sk,
  ss_item_sk as sr_item_sk,
  ss_customer_sk as sr_customer_sk,
  ss_cdemo_sk as sr_cdemo_sk,
  ss_store_sk as sr_store_sk,
  case when ((i * 41077423 + 143584) % 1000003 * (i % 1033 + 13) % 1000003) % 40 > 0 then (1 + ((i * 41069504 + 38855) % 1000003 * (i % 1031 + 12) % 1000003) % 35)::integer end as sr_reason_sk,
  ss_ticket_number as sr_ticket_number,
  (1 + ((i * 41085342 + 248313) % 1000003 * (i % 1035 + 14) % 1000003) % 20)::integer as sr_return_quantity,
  case when ((i * 41394183 + 332732) % 1000003 * (i % 1033 + 53) % 1000003) % 25 > 0 then ((0 + ((i * 41386264 + 228003) % 1000003 * (i % 1031 + 52) % 1000003) % 150001) / 100.0)::decimal(7,2) end as sr_return_amt,
  case when ((i * 41703024 + 417151) % 1000003 * (i % 1031 + 92) % 1000003) % 25 > 0 then ((((i * 41695105 + 312422) % 1000003 * (i % 1029 + 91) % 1000003) % 180001 - 90000) / 100.0)::decimal(7,2) end as sr_net_loss
from (select *, row_number() over (order by ss_ticket_number, ss_item_sk)::bigint as i from store_sales) where i % 3 = 0;

create table web_returns as
select
  (ws_sold_date_sk + 3 + ((i * 41710943 + 521880) % 1000003 * (i % 1033 + 93) % 1000003) % 60)::integer as wr_returned_date_sk,
  ws_item_sk as wr_item_sk,
  case when ((i * 41726781 + 731338) % 1000003 * (i % 1037 + 95) % 1000003) % 40 > 0 then (1 + ((i * 41718862 + 626609) % 1000003 * (i % 1035 + 94) % 1000003) % 70)::integer end as wr_refunded_cdemo_sk,
  ws_bill_addr_sk as wr_refunded_addr_sk,
  ws_bill_customer_sk as wr_returning_customer_sk,
  case when ((i * 41742619 + 940796) % 1000003 * (i % 1041 + 97) % 1000003) % 40 > 0 then (1 + ((i * 41734700 + 836067) % 1000003 * (i % 1039 + 96) % 1000003) % 70)::integer end as wr_returning_cdemo_sk,
  ws_bill_addr_sk as wr_returning_addr_sk,
  ws_web_page_sk as wr_web_page_sk,
  case when ((i * 41758457 + 150251) % 1000003 * (i % 1045 + 99) % 1000003) % 40 > 0 then (1 + ((i * 41750538 + 45522) % 1000003 * (i % 1043 + 98) % 1000003) % 35)::integer end as wr_reason_sk,
  ws_order_number as wr_order_number,
  (1 + ((i * 41766376 + 254980) % 1000003 * (i % 1047 + 100) % 1000003) % 20)::integer as wr_return_quantity,
  case when ((i * 42075217 + 339399) % 1000003 * (i % 1045 + 42) % 1000003) % 25 > 0 then ((0 + ((i * 42067298 + 234670) % 1000003 * (i % 1043 + 41) % 1000003) % 150001) / 100.0)::decimal(7,2) end as wr_return_amt,
  case when ((i * 42384058 + 423818) % 1000003 * (i % 1043 + 81) % 1000003) % 25 > 0 then ((0 + ((i * 42376139 + 319089) % 1000003 * (i % 1041 + 80) % 1000003) % 150001) / 100.0)::decimal(7,2) end as wr_fee,
  case when ((i * 42692899 + 508237) % 1000003 * (i % 1041 + 23) % 1000003) % 25 > 0 then ((0 + ((i * 42684980 + 403508) % 1000003 * (i % 1039 + 22) % 1000003) % 150001) / 100.0)::decimal(7,2) end as wr_refunded_cash,
  case when ((i * 43001740 + 592656) % 1000003 * (i % 1039 + 62) % 1000003) % 25 > 0 then ((((i * 42993821 + 487927) % 1000003 * (i % 1037 + 61) % 1000003) % 180001 - 90000) / 100.0)::decimal(7,2) end as wr_net_loss
from (select *, row_number() over (order by ws_order_number, ws_item_sk)::bigint as i from web_sales) where i % 2 = 0;
